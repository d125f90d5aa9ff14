import { f32 } from "../floats/float32.ts";
import { nearestInt } from "./rounding.ts";
import { tiny } from "./symmetricScale.ts";

const tenth = f32(0.1);

/**
 * Finds a scale and codes `[0, max]` with `x[i] ~ scale * code[i]` for values that are not negative, minimising the squared error
 * weighted by `weights`: the best of nine scales, of whose codes up to five passes change single ones as long as that lowers the error.
 * Writes `codes [n]` and returns the scale. Source: `make_qp_quants` of ggml-quants.c.
 */
export function positiveScale(x: Float32Array, n: number, max: number, weights: Float32Array, codes: Uint8Array): number {
  let largest = 0;
  for (let i = 0; i < n; i++) largest = Math.max(largest, x[i]!);
  if (largest < tiny) {
    codes.fill(0, 0, n);
    return 0;
  }
  let inverse = f32(max / largest);
  let best = squaredError(x, n, weights, inverse, Infinity);
  for (let step = -4; step <= 4; step++) {
    if (step === 0) continue;
    const trial = f32(f32(f32(tenth * step) + max) / largest);
    const error = squaredError(x, n, weights, trial, max);
    if (error < best) {
      best = error;
      inverse = trial;
    }
  }
  let sumLX = 0;
  let sumL2 = 0;
  for (let i = 0; i < n; i++) {
    const value = x[i]!;
    const weight = weights[i]!;
    const code = Math.min(max, nearestInt(f32(inverse * value)));
    codes[i] = code;
    sumLX = f32(sumLX + f32(f32(weight * value) * code));
    sumL2 = f32(sumL2 + f32(f32(weight * code) * code));
  }
  for (let pass = 0; pass < 5; pass++) {
    let hasChanged = false;
    for (let i = 0; i < n; i++) {
      const value = x[i]!;
      const weight = weights[i]!;
      const weighted = f32(weight * value);
      const code = codes[i]!;
      const restLX = f32(sumLX - f32(weighted * code));
      const restL2 = f32(sumL2 - f32(f32(weight * code) * code));
      if (!(restLX > 0 && restL2 > 0)) continue;
      const next = Math.min(max, nearestInt(f32(f32(value * restL2) / restLX)));
      if (next === code) continue;
      const nextLX = f32(restLX + f32(weighted * next));
      const nextL2 = f32(restL2 + f32(f32(weight * next) * next));
      if (f32(f32(nextLX * nextLX) * sumL2) > f32(f32(sumLX * sumLX) * nextL2)) {
        codes[i] = next;
        sumLX = nextLX;
        sumL2 = nextL2;
        hasChanged = true;
      }
    }
    if (!hasChanged) break;
  }
  return sumL2 > 0 ? f32(sumLX / sumL2) : 0;
}

function squaredError(x: Float32Array, n: number, weights: Float32Array, inverse: number, max: number): number {
  const scale = f32(1 / inverse);
  let error = 0;
  for (let i = 0; i < n; i++) {
    const value = x[i]!;
    const difference = f32(value - f32(scale * Math.min(max, nearestInt(f32(inverse * value)))));
    error = f32(error + f32(f32(weights[i]! * difference) * difference));
  }
  return error;
}
