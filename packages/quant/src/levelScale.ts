import { iq4Levels } from "./codebooks.ts";
import { f32, importanceWeights, largestValue } from "./float32.ts";
import { tiny } from "./symmetricScale.ts";

const levels = Int8Array.from(iq4Levels);

/** Index of the level of iq4_nl nearest to `x`, the higher one in the middle. */
export function nearestLevel(x: number): number {
  if (x <= levels[0]!) return 0;
  if (x >= levels[15]!) return 15;
  let low = 0;
  let high = 15;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (x < levels[middle]!) high = middle;
    else low = middle;
  }
  return f32(x - levels[low]!) < f32(levels[high]! - x) ? low : high;
}

const weights = new Float32Array(32);

/**
 * Finds the scale with `x[i] ~ scale * level[code[i]]` for 32 values that minimises the squared error weighted by `x[i]^2` or by
 * {@link importanceWeights}: of 16 scales, each corrected by least squares, the best; it may be negative. Source:
 * `quantize_row_iq4_nl_impl` of ggml-quants.c.
 */
export function levelScale(x: Float32Array, from: number, importance: Float32Array | undefined, variance: number): number {
  const largest = largestValue(x, from, 32);
  if (Math.abs(largest) < tiny) return 0;
  if (importance !== undefined) importanceWeights(x, from, 32, importance, variance, weights);
  else for (let i = 0; i < 32; i++) weights[i] = x[from + i]! * x[from + i]!;
  let scale = 0;
  let best = 0;
  for (let trial = -8; trial <= 7; trial++) {
    // The first trial maps the largest value to the opposite end; it stays where none of the others is better.
    const inverse = trial === -8 ? f32(1 / f32(-largest / levels[0]!)) : f32((trial + levels[0]!) / largest);
    let sumQX = 0;
    let sumQ2 = 0;
    for (let i = 0; i < 32; i++) {
      const level = levels[nearestLevel(f32(inverse * x[from + i]!))]!;
      const weighted = f32(weights[i]! * level);
      sumQX = f32(sumQX + f32(weighted * x[from + i]!));
      sumQ2 = f32(sumQ2 + f32(weighted * level));
    }
    if (trial === -8 || (sumQ2 > 0 && f32(sumQX * sumQX) > f32(best * sumQ2))) {
      scale = sumQ2 > 0 ? f32(sumQX / sumQ2) : 0;
      best = f32(scale * sumQX);
    }
  }
  return scale;
}

/** Writes 32 nearest levels of `x * inverse` as the nibbles of iq4_nl. */
export function packLevels(x: Float32Array, from: number, inverse: number, out: Uint8Array, at: number): void {
  for (let j = 0; j < 16; j++) {
    out[at + j] = nearestLevel(f32(inverse * x[from + j]!)) | (nearestLevel(f32(inverse * x[from + j + 16]!)) << 4);
  }
}
