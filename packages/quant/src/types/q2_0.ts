import { halfAt } from "../floats/half.ts";

/**
 * q2_0, 64 weights in 18 bytes: `d` f16 | `qs` 16 bytes. Bit pair `j & 3` of `qs[j >> 2]` is weight `j`: `w = d * (q - 1)`, so -1, 0, 1
 * or 2 times `d`. Source: `block_q2_0` of ggml-common.h. (A fork uses the same id for blocks of 128; those files are different.)
 */
export function dequantizeQ2_0(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 18, to += 64) {
    const d = halfAt(bytes, at);
    for (let j = 0; j < 64; j++) out[to + j] = d * (((bytes[at + 2 + (j >> 2)]! >> (2 * (j & 3))) & 3) - 1);
  }
}
