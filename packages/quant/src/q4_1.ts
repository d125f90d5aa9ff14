import { halfAt } from "./half.ts";

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
