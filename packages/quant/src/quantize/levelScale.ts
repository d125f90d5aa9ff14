import { importanceWeights, largestValue, squares } from "../floats/float32.ts";
import { iq4Levels } from "../types/levels.ts";
import { tiny } from "./symmetricScale.ts";

const levels = Float64Array.from(iq4Levels);
/** Index of the last level not above `i - 127`. The levels are whole numbers, so `x` and `floor(x)` have the same one. */
const lastNotAbove = Uint8Array.from({ length: 240 }, (_, i) => iq4Levels.findLastIndex((level) => level <= i - 127));

/** Index of the level of iq4_nl nearest to `x`: the higher one of two at the same distance, the last one for NaN (`best_index_int8` of ggml-quants.c). */
export function nearestLevel(x: number): number {
  if (x <= -127) return 0;
  if (!(x < 113)) return 15;
  const low = lastNotAbove[Math.floor(x) + 127]!;
  return Math.fround(x - levels[low]!) < Math.fround(levels[low + 1]! - x) ? low : low + 1;
}

const weights = new Float32Array(32);
const values = new Float64Array(32);

/**
 * Finds the scale with `x[i] ~ scale * level[code[i]]` for 32 values that minimises the squared error weighted by `x[i]^2` or by
 * {@link importanceWeights}: of 16 scales, each corrected by least squares, the best; it may be negative. Source:
 * `quantize_row_iq4_nl_impl` of ggml-quants.c.
 */
export function levelScale(x: Float32Array, from: number, importance: Float32Array | undefined, variance: number): number {
  const largest = largestValue(x, from, 32);
  if (Math.abs(largest) < tiny) return 0;
  if (importance !== undefined) importanceWeights(x, from, 32, importance, variance, weights);
  else squares(x, from, 32, weights);
  values.set(x.subarray(from, from + 32));
  const lowest = levels[0]!;
  let scale = 0;
  let best = 0;
  for (let trial = -8; trial <= 7; trial++) {
    // The first trial maps the largest value to the opposite end. It wins ties.
    const inverse = trial === -8 ? Math.fround(1 / Math.fround(-largest / lowest)) : Math.fround((trial + lowest) / largest);
    let sumQX = 0;
    let sumQ2 = 0;
    for (let i = 0; i < 32; i++) {
      const level = levels[nearestLevel(Math.fround(inverse * values[i]!))]!;
      const weighted = Math.fround(weights[i]! * level);
      sumQX = Math.fround(sumQX + Math.fround(weighted * values[i]!));
      sumQ2 = Math.fround(sumQ2 + Math.fround(weighted * level));
    }
    if (trial === -8 || (sumQ2 > 0 && Math.fround(sumQX * sumQX) > Math.fround(best * sumQ2))) {
      scale = sumQ2 > 0 ? Math.fround(sumQX / sumQ2) : 0;
      best = Math.fround(scale * sumQX);
    }
  }
  return scale;
}

/** Writes 32 nearest levels of `x * inverse` as the nibbles of iq4_nl. */
export function packLevels(x: Float32Array, from: number, inverse: number, out: Uint8Array, at: number): void {
  for (let j = 0; j < 16; j++) {
    out[at + j] = nearestLevel(Math.fround(inverse * x[from + j]!)) | (nearestLevel(Math.fround(inverse * x[from + j + 16]!)) << 4);
  }
}
