import { clamp, f32, largestValue } from "../floats/float32.ts";
import { nearestInt, toWhole } from "./rounding.ts";

/** Groups with no larger value count as zeros. Source: `GROUP_MAX_EPS` of ggml-quants.c. */
export const tiny: number = f32(1e-15);

// As in affineScale.ts: f32 values, loaded without a conversion.
const values = new Float64Array(32);
const groupWeights = new Float64Array(32);
const weighted = new Float64Array(32);
const trialCodes = new Float64Array(32);

/**
 * Finds a scale and codes `[-max, max - 1]` with `x[i] ~ scale * code[i]` for a group of `n <= 32` values, minimising the squared error
 * weighted by `weights [n]`: of 19 scales around `-largest / max`, each corrected by least squares, the best. Writes `code + max` to
 * `codes[from, from + n)` and returns the scale, which may be negative. Source: `make_qx_quants` of ggml-quants.c, error type 1.
 */
export function symmetricScale(
  x: Float32Array,
  from: number,
  n: number,
  max: number,
  weights: Float32Array,
  codes: Uint8Array,
  to: number,
): number {
  const largest = largestValue(x, from, n);
  if (Math.abs(largest) < tiny) {
    codes.fill(0, to, to + n);
    return 0;
  }
  for (let i = 0; i < n; i++) {
    const value = x[from + i]!;
    const weight = weights[i]!;
    values[i] = value;
    groupWeights[i] = weight;
    weighted[i] = Math.fround(weight * value);
  }
  let scale = 0;
  let best = 0;
  for (let trial = 0; trial < 19; trial++) {
    // The plain scale comes first, so it wins ties.
    const step = trial === 0 ? 0 : trial < 10 ? trial - 10 : trial - 9;
    const inverse = Math.fround(-Math.fround(max + Math.fround(tenth * step)) / largest);
    let sumLX = 0;
    let sumL2 = 0;
    for (let i = 0; i < n; i++) {
      const code = codeOf(Math.fround(inverse * values[i]!), max);
      trialCodes[i] = code;
      sumLX = Math.fround(sumLX + Math.fround(weighted[i]! * code));
      sumL2 = Math.fround(sumL2 + Math.fround(Math.fround(groupWeights[i]! * code) * code));
    }
    const isBetter = trial === 0 || (sumL2 > 0 && Math.fround(sumLX * sumLX) > Math.fround(best * sumL2));
    if (!isBetter) continue;
    for (let i = 0; i < n; i++) codes[to + i] = trialCodes[i]! + max;
    scale = sumL2 === 0 ? 0 : Math.fround(sumLX / sumL2);
    best = Math.fround(scale * sumLX);
  }
  return scale;
}

/** `clamp(nearestInt(x), -max, max - 1)`. */
function codeOf(x: number, max: number): number {
  const code = x + toWhole - toWhole;
  return code >= -max && code < max ? code : clamp(nearestInt(x), -max, max - 1);
}

const tenth = f32(0.1);

/**
 * Like {@link symmetricScale} with weights `x[i]^2`, but with another search. It starts from the codes for the scale `-largest / max`; up to
 * five passes change single codes while that lowers the error. Source: `make_q3_quants` of ggml-quants.c.
 */
export function refinedScale(x: Float32Array, from: number, n: number, max: number, codes: Uint8Array, to: number): number {
  const largest = largestValue(x, from, n);
  if (Math.abs(largest) < tiny) {
    codes.fill(0, to, to + n);
    return 0;
  }
  const inverse = Math.fround(-max / largest);
  let sumLX = 0;
  let sumL2 = 0;
  for (let i = 0; i < n; i++) {
    const value = x[from + i]!;
    const code = codeOf(Math.fround(inverse * value), max);
    const weighted = Math.fround(Math.fround(value * value) * value);
    codes[to + i] = code + max;
    sumLX = Math.fround(sumLX + Math.fround(weighted * code));
    sumL2 = Math.fround(sumL2 + Math.fround(Math.fround(Math.fround(value * value) * code) * code));
  }
  for (let pass = 0; pass < 5; pass++) {
    let hasChanged = false;
    for (let i = 0; i < n; i++) {
      const value = x[from + i]!;
      const weight = Math.fround(value * value);
      const code = codes[to + i]! - max;
      const restLX = Math.fround(sumLX - Math.fround(Math.fround(weight * value) * code));
      if (restLX <= 0) continue;
      const restL2 = Math.fround(sumL2 - Math.fround(Math.fround(weight * code) * code));
      const next = codeOf(Math.fround(Math.fround(value * restL2) / restLX), max);
      if (next === code) continue;
      const nextLX = Math.fround(restLX + Math.fround(Math.fround(weight * value) * next));
      const nextL2 = Math.fround(restL2 + Math.fround(Math.fround(weight * next) * next));
      if (nextL2 > 0 && Math.fround(Math.fround(nextLX * nextLX) * sumL2) > Math.fround(Math.fround(sumLX * sumLX) * nextL2)) {
        codes[to + i] = next + max;
        sumLX = nextLX;
        sumL2 = nextL2;
        hasChanged = true;
      }
    }
    if (!hasChanged) break;
  }
  return sumL2 > 0 ? Math.fround(sumLX / sumL2) : 0;
}

/**
 * Writes the codes of 256 values for the scales as stored: `codes[i] = round(x[i] / (d * scales[i / 16])) + max`, in `[0, 2 * max - 1]`.
 * A group whose scale is zero keeps its codes.
 */
export function recode(x: Float32Array, from: number, d: number, scales: Int8Array, max: number, codes: Uint8Array): void {
  for (let group = 0; group < 16; group++) {
    const scale = Math.fround(d * scales[group]!);
    if (scale === 0) continue;
    for (let i = group * 16; i < group * 16 + 16; i++) codes[i] = codeOf(Math.fround(x[from + i]! / scale), max) + max;
  }
}
