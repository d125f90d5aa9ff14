import { halfAt } from "./half.ts";

/**
 * q5_0, 32 weights in 22 bytes: `d` f16 | `qh` 4 bytes | `qs` 16 bytes. The low four bits lie as in q4_0, bit `j` of the
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
