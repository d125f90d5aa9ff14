import { clamp, f32 } from "./float32.ts";
import { nearestInt } from "./rounding.ts";

/** Which inverse scales to try: `(first + step * i + max) / range` for `i` of 0 to `steps`. */
export interface ScaleSearch {
  readonly first: number;
  readonly step: number;
  readonly steps: number;
  /** Minimise absolute errors instead of squared ones. */
  readonly absolute: boolean;
}

/** The search where an importance matrix gives the weights. Source: the calls of `make_qkx3_quants` in ggml-quants.c. */
export const importanceSearch: ScaleSearch = { first: f32(-0.9), step: f32(0.05), steps: 36, absolute: false };

export interface AffineScale {
  scale: number;
  /** What is subtracted, so never negative. */
  min: number;
}

const trialCodes = new Uint8Array(32);

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
  let sumX = f32(sumW * low);
  for (let i = 1; i < n; i++) {
    const value = x[from + i]!;
    if (value < low) low = value;
    if (value > high) high = value;
    sumW = f32(sumW + weights[i]!);
    sumX = f32(sumX + f32(weights[i]! * value));
  }
  if (low > 0) low = 0;
  if (high === low) {
    codes.fill(0, from, from + n);
    result.scale = 0;
    result.min = -low;
    return;
  }
  const plain = f32(max / f32(high - low));
  let scale = f32(1 / plain);
  for (let i = 0; i < n; i++) codes[from + i] = clamp(nearestInt(f32(plain * f32(x[from + i]! - low))), 0, max);
  let best = affineError(x, from, n, weights, codes, from, scale, low, search.absolute, Infinity);
  for (let trial = 0; trial <= search.steps; trial++) {
    const inverse = f32(f32(f32(search.first + f32(search.step * trial)) + max) / f32(high - low));
    let sumL = 0;
    let sumL2 = 0;
    let sumLX = 0;
    for (let i = 0; i < n; i++) {
      const value = x[from + i]!;
      const code = clamp(nearestInt(f32(inverse * f32(value - low))), 0, max);
      trialCodes[i] = code;
      const weighted = f32(weights[i]! * code);
      sumL = f32(sumL + weighted);
      sumL2 = f32(sumL2 + f32(weighted * code));
      sumLX = f32(sumLX + f32(weighted * value));
    }
    const determinant = f32(f32(sumW * sumL2) - f32(sumL * sumL));
    if (!(determinant > 0)) continue;
    let trialScale = f32(f32(f32(sumW * sumLX) - f32(sumX * sumL)) / determinant);
    let trialMin = f32(f32(f32(sumL2 * sumX) - f32(sumL * sumLX)) / determinant);
    if (trialMin > 0) {
      trialMin = 0;
      trialScale = f32(sumLX / sumL2);
    }
    const error = affineError(x, from, n, weights, trialCodes, 0, trialScale, trialMin, search.absolute, best);
    if (error < best) {
      for (let i = 0; i < n; i++) codes[from + i] = trialCodes[i]!;
      best = error;
      scale = trialScale;
      // The trials that follow start from the better minimum too.
      low = trialMin;
    }
  }
  result.scale = scale;
  result.min = -low;
}

/** The weighted error, or where it reaches `limit` on the way, some number not below that. */
function affineError(
  x: Float32Array,
  from: number,
  n: number,
  weights: Float32Array,
  codes: Uint8Array,
  codesFrom: number,
  scale: number,
  min: number,
  absolute: boolean,
  limit: number,
): number {
  let error = 0;
  for (let i = 0; i < n && error < limit; i++) {
    const difference = f32(f32(f32(scale * codes[codesFrom + i]!) + min) - x[from + i]!);
    error = f32(error + f32(weights[i]! * (absolute ? Math.abs(difference) : f32(difference * difference))));
  }
  return error;
}
