import { f32, sumOfSquares } from "../floats/float32.ts";
import { halfAt, setHalfAt } from "../floats/half.ts";
import { affineCodes } from "./q4_1.ts";
import { fifthBit, packFiveBits } from "./q5_0.ts";

/**
 * q5_1, 32 weights in 24 bytes: `d` f16 | `m` f16 | `qh` 4 bytes | `qs` 16 bytes, bits as in q5_0: `w = d * q + m`. Source:
 * `block_q5_1` of ggml-common.h.
 */
export function dequantizeQ5_1(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 24, to += 32) {
    const d = halfAt(bytes, at);
    const m = halfAt(bytes, at + 2);
    for (let j = 0; j < 16; j++) {
      const q = bytes[at + 8 + j]!;
      out[to + j] = d * ((q & 15) | (fifthBit(bytes, at + 4, j) << 4)) + m;
      out[to + j + 16] = d * ((q >> 4) | (fifthBit(bytes, at + 4, j + 16) << 4)) + m;
    }
  }
}

const codes = new Uint8Array(32);

/** Quantises a row, as for q4_1. Source: `quantize_q5_1` of ggml-quants.c. */
export function quantizeQ5_1(row: Float32Array, out: Uint8Array, importance?: Float32Array): void {
  const variance = importance === undefined ? 0 : f32(sumOfSquares(row, 0, row.length) / row.length);
  for (let at = 0, from = 0; at < out.length; at += 24, from += 32) {
    const { scale, min } = affineCodes(row, from, 31, importance, variance, codes);
    setHalfAt(out, at, scale);
    setHalfAt(out, at + 2, -min);
    packFiveBits(codes, out, at + 4, at + 8);
  }
}
