import { halfAt } from "./half.ts";

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
