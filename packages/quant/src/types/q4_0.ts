import { f32, importanceWeights, largestValue, sumOfSquares } from "../floats/float32.ts";
import { halfAt, setHalfAt } from "../floats/half.ts";
import { symmetricScale } from "../quantize/symmetricScale.ts";
/**
 * q4_0, 32 weights in 18 bytes: `d` f16 | `qs` 16 bytes. Weight `j < 16` is the low nibble of `qs[j]`, weight `j + 16` the high
 * one: `w = d * (q - 8)`. Source: `block_q4_0` of ggml-common.h.
 */
export function dequantizeQ4_0(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 18, to += 32) {
    const d = halfAt(bytes, at);
    for (let j = 0; j < 16; j++) {
      const q = bytes[at + 2 + j]!;
      out[to + j] = d * ((q & 15) - 8);
      out[to + j + 16] = d * ((q >> 4) - 8);
    }
  }
}

const weights = new Float32Array(32);
const codes = new Uint8Array(32);

/**
 * Quantises a row: `d = largest / -8`, `q = floor(x / d + 8.5)`, at most 15; with `importance`, the scale of {@link symmetricScale}. Source:
 * `quantize_q4_0` of ggml-quants.c.
 */
export function quantizeQ4_0(row: Float32Array, out: Uint8Array, importance?: Float32Array): void {
  const variance = importance === undefined ? 0 : f32(sumOfSquares(row, 0, row.length) / row.length);
  for (let at = 0, from = 0; at < out.length; at += 18, from += 32) {
    setHalfAt(out, at, symmetricCodes(row, from, 8, importance, variance, codes));
    packHalves(codes, out, at + 2);
  }
}

/** Writes the low four bits of 32 codes to 16 bytes: those of the first 16 codes as low nibbles, those of the others as high ones. */
export function packHalves(codes: Uint8Array, out: Uint8Array, at: number): void {
  for (let j = 0; j < 16; j++) out[at + j] = (codes[j]! & 15) | ((codes[j + 16]! & 15) << 4);
}

/** Scale and codes `[0, 2 * max - 1]`, zero at `max`, of the 32 values that q4_0 and q5_0 have in a block. */
export function symmetricCodes(
  row: Float32Array,
  from: number,
  max: number,
  importance: Float32Array | undefined,
  variance: number,
  codes: Uint8Array,
): number {
  if (importance !== undefined) {
    importanceWeights(row, from, 32, importance, variance, weights);
    return symmetricScale(row, from, 32, max, weights, codes, 0);
  }
  const d = f32(largestValue(row, from, 32) / -max);
  const inverse = d === 0 ? 0 : f32(1 / d);
  for (let j = 0; j < 32; j++) codes[j] = Math.min(2 * max - 1, Math.floor(f32(f32(row[from + j]! * inverse) + (max + 0.5))));
  return d;
}
