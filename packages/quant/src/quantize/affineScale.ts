import { clamp, f32 } from "../floats/float32.ts";
import { nearestInt, toWhole } from "./rounding.ts";

/** Which inverse scales to try: `(first + step * i + max) / range` for `i` of 0 to `steps`. */
export interface ScaleSearch {
  readonly first: number;
  readonly step: number;
  readonly steps: number;
  /** Minimise absolute errors instead of squared ones. */
  readonly absolute: boolean;
}

/** The search that is used with an importance matrix. Source: the calls of `make_qkx3_quants` in ggml-quants.c. */
export const importanceSearch: ScaleSearch = { first: f32(-0.9), step: f32(0.05), steps: 36, absolute: false };

export interface AffineScale {
  scale: number;
  /** Never negative, because it is subtracted. */
  min: number;
}

// The group's f32 values, stored as f64: the loops below run about twenty times and load values without a conversion.
const values = new Float64Array(32);
const shifted = new Float64Array(32);
const errorWeights = new Float64Array(32);
const trialCodes = new Float64Array(32);
const bestCodes = new Float64Array(32);

/**
 * Finds a scale, a minimum and codes `[0, max]` with `x[i] ~ scale * code[i] - min` for a group of `n <= 32` values, minimising the
 * error weighted by `weights [n]`: of the scales of `search`, each corrected by least squares, the best. Writes
 * `codes[from, from + n)` and `result`. Source: `make_qkx2_quants` and `make_qkx3_quants` of ggml-quants.c.
 */
export function affineScale(
  x: Float32Array,
  from: number,
  n: number,
  max: number,
  weights: Float32Array,
  search: ScaleSearch,
  codes: Uint8Array,
  result: AffineScale,
): void {
  let low = x[from]!;
  let high = low;
  let sumW = weights[0]!;
  let sumX = Math.fround(sumW * low);
  values[0] = low;
  errorWeights[0] = sumW;
  for (let i = 1; i < n; i++) {
    const value = x[from + i]!;
    const weight = weights[i]!;
    values[i] = value;
    errorWeights[i] = weight;
    if (value < low) low = value;
    if (value > high) high = value;
    sumW = Math.fround(sumW + weight);
    sumX = Math.fround(sumX + Math.fround(weight * value));
  }
  if (low > 0) low = 0;
  if (high === low) {
    codes.fill(0, from, from + n);
    result.scale = 0;
    result.min = -low;
    return;
  }
  const plain = Math.fround(max / Math.fround(high - low));
  let scale = Math.fround(1 / plain);
  for (let i = 0; i < n; i++) {
    const above = Math.fround(values[i]! - low);
    shifted[i] = above;
    bestCodes[i] = codeOf(Math.fround(plain * above), max);
  }
  const { first, step, steps, absolute } = search;
  let best = affineError(n, bestCodes, scale, low, absolute, Infinity);
  for (let trial = 0; trial <= steps; trial++) {
    const inverse = Math.fround(Math.fround(Math.fround(first + Math.fround(step * trial)) + max) / Math.fround(high - low));
    let sumL = 0;
    let sumL2 = 0;
    let sumLX = 0;
    for (let i = 0; i < n; i++) {
      const code = codeOf(Math.fround(inverse * shifted[i]!), max);
      trialCodes[i] = code;
      const weighted = Math.fround(errorWeights[i]! * code);
      sumL = Math.fround(sumL + weighted);
      sumL2 = Math.fround(sumL2 + Math.fround(weighted * code));
      sumLX = Math.fround(sumLX + Math.fround(weighted * values[i]!));
    }
    const determinant = Math.fround(Math.fround(sumW * sumL2) - Math.fround(sumL * sumL));
    if (!(determinant > 0)) continue;
    let trialScale = Math.fround(Math.fround(Math.fround(sumW * sumLX) - Math.fround(sumX * sumL)) / determinant);
    let trialMin = Math.fround(Math.fround(Math.fround(sumL2 * sumX) - Math.fround(sumL * sumLX)) / determinant);
    if (trialMin > 0) {
      trialMin = 0;
      trialScale = Math.fround(sumLX / sumL2);
    }
    const error = affineError(n, trialCodes, trialScale, trialMin, absolute, best);
    if (error < best) {
      best = error;
      scale = trialScale;
      // Later trials also start from the better minimum.
      low = trialMin;
      for (let i = 0; i < n; i++) {
        bestCodes[i] = trialCodes[i]!;
        shifted[i] = Math.fround(values[i]! - low);
      }
    }
  }
  for (let i = 0; i < n; i++) codes[from + i] = bestCodes[i]!;
  result.scale = scale;
  result.min = -low;
}

/** `clamp(nearestInt(x), 0, max)`. */
function codeOf(x: number, max: number): number {
  const code = x + toWhole - toWhole;
  return code >= 0 && code <= max ? code : clamp(nearestInt(x), 0, max);
}

/** Returns the weighted error of the loaded group, or some number of at least `limit` once the sum reaches `limit`. */
function affineError(n: number, codes: Float64Array, scale: number, min: number, absolute: boolean, limit: number): number {
  let error = 0;
  for (let i = 0; i < n && error < limit; i++) {
    const difference = Math.fround(Math.fround(Math.fround(scale * codes[i]!) + min) - values[i]!);
    const cost = absolute ? Math.abs(difference) : Math.fround(difference * difference);
    error = Math.fround(error + Math.fround(errorWeights[i]! * cost));
  }
  return error;
}
