import { f32, sumOfSquares } from "../floats/float32.ts";
import { halfAt, setHalfAt } from "../floats/half.ts";
import { packHalves, symmetricCodes } from "./q4_0.ts";
/**
 * q5_0, 32 weights in 22 bytes: `d` f16 | `qh` 4 bytes | `qs` 16 bytes. The low four bits are stored as in q4_0, bit `j` of the
 * little-endian `qh` is the fifth bit of weight `j`: `w = d * (q - 16)`. Source: `block_q5_0` of ggml-common.h.
 */
export function dequantizeQ5_0(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 22, to += 32) {
    const d = halfAt(bytes, at);
    for (let j = 0; j < 16; j++) {
      const q = bytes[at + 6 + j]!;
      out[to + j] = d * (((q & 15) | (fifthBit(bytes, at + 2, j) << 4)) - 16);
      out[to + j + 16] = d * (((q >> 4) | (fifthBit(bytes, at + 2, j + 16) << 4)) - 16);
    }
  }
}

/** Bit `j` of the 32-bit little-endian mask at byte `at`. */
export function fifthBit(bytes: Uint8Array, at: number, j: number): number {
  return (bytes[at + (j >> 3)]! >> (j & 7)) & 1;
}

/** Writes 32 codes of five bits: the fifth bits to the mask at byte `mask`, the others as nibbles to `nibbles`. */
export function packFiveBits(codes: Uint8Array, out: Uint8Array, mask: number, nibbles: number): void {
  out.fill(0, mask, mask + 4);
  for (let j = 0; j < 32; j++) out[mask + (j >> 3)]! |= (codes[j]! >> 4) << (j & 7);
  packHalves(codes, out, nibbles);
}

const codes = new Uint8Array(32);

/** Quantises a row, as for q4_0. Source: `quantize_q5_0` of ggml-quants.c. */
export function quantizeQ5_0(row: Float32Array, out: Uint8Array, importance?: Float32Array): void {
  const variance = importance === undefined ? 0 : f32(sumOfSquares(row, 0, row.length) / row.length);
  for (let at = 0, from = 0; at < out.length; at += 22, from += 32) {
    setHalfAt(out, at, symmetricCodes(row, from, 16, importance, variance, codes));
    packFiveBits(codes, out, at + 2, at + 6);
  }
}
