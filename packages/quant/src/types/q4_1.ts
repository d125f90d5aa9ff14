import { f32, importanceWeights, sumOfSquares } from "../floats/float32.ts";
import { halfAt, setHalfAt } from "../floats/half.ts";
import { type AffineScale, affineScale, importanceSearch } from "../quantize/affineScale.ts";
import { packHalves } from "./q4_0.ts";
/**
 * q4_1, 32 weights in 20 bytes: `d` f16 | `m` f16 | `qs` 16 bytes, nibbles as in q4_0: `w = d * q + m`. Source: `block_q4_1` of
 * ggml-common.h.
 */
export function dequantizeQ4_1(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 20, to += 32) {
    const d = halfAt(bytes, at);
    const m = halfAt(bytes, at + 2);
    for (let j = 0; j < 16; j++) {
      const q = bytes[at + 4 + j]!;
      out[to + j] = d * (q & 15) + m;
      out[to + j + 16] = d * (q >> 4) + m;
    }
  }
}

const weights = new Float32Array(32);
const found: AffineScale = { scale: 0, min: 0 };
const block = new Float32Array(32);
const codes = new Uint8Array(32);

/**
 * Quantises a row: `m` the smallest value, `d = (largest - m) / 15`, `q = floor((x - m) / d + 0.5)`, at most 15; with `importance`, the scale
 * of {@link affineScale}. Source: `quantize_q4_1` of ggml-quants.c.
 */
export function quantizeQ4_1(row: Float32Array, out: Uint8Array, importance?: Float32Array): void {
  const variance = importance === undefined ? 0 : f32(sumOfSquares(row, 0, row.length) / row.length);
  for (let at = 0, from = 0; at < out.length; at += 20, from += 32) {
    const { scale, min } = affineCodes(row, from, 15, importance, variance, codes);
    setHalfAt(out, at, scale);
    setHalfAt(out, at + 2, -min);
    packHalves(codes, out, at + 4);
  }
}

/** Scale, minimum and codes `[0, max]` of the 32 values that q4_1 and q5_1 have in a block. */
export function affineCodes(
  row: Float32Array,
  from: number,
  max: number,
  importance: Float32Array | undefined,
  variance: number,
  codes: Uint8Array,
): Readonly<AffineScale> {
  if (importance !== undefined) {
    importanceWeights(row, from, 32, importance, variance, weights);
    block.set(row.subarray(from, from + 32));
    affineScale(block, 0, 32, max, weights, importanceSearch, codes, found);
    return found;
  }
  let low = row[from]!;
  let high = low;
  for (let j = 1; j < 32; j++) {
    const value = row[from + j]!;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  found.scale = f32(f32(high - low) / max);
  found.min = -low;
  const inverse = found.scale === 0 ? 0 : f32(1 / found.scale);
  for (let j = 0; j < 32; j++) codes[j] = Math.min(max, Math.floor(f32(f32(f32(row[from + j]! - low) * inverse) + 0.5)));
  return found;
}
