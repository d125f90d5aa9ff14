import { halfAt } from "../floats/half.ts";

/**
 * q1_0, 128 weights in 18 bytes: `d` f16 | `qs` 16 bytes. Bit `j & 7` of `qs[j >> 3]` is the sign of weight `j`: set `w = d`, clear
 * `w = -d`. Source: `block_q1_0` of ggml-common.h.
 */
export function dequantizeQ1_0(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 18, to += 128) {
    const d = halfAt(bytes, at);
    for (let j = 0; j < 128; j++) out[to + j] = (bytes[at + 2 + (j >> 3)]! >> (j & 7)) & 1 ? d : -d;
  }
}
