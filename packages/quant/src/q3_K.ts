import { halfAt } from "./half.ts";

/**
 * q3_K, 256 weights in 110 bytes: `hmask` 32 bytes | `qs` 64 bytes | `scales` 12 bytes | `d` f16. The low two bits of a weight lie as
 * in q2_K; its third bit is bit `k` of `hmask[l]` for weight `32 * k + l`. The sixteen 6-bit scales have their low four bits in the
 * nibbles of bytes 0-7 (low nibbles first) and their upper two in the bit pairs of bytes 8-11: `w = d * (scale - 32) * (q - 4)`.
 * Source: `block_q3_K` of ggml-common.h.
 */
export function dequantizeQ3_K(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 110, to += 256) {
    const d = halfAt(bytes, at + 108);
    for (let group = 0; group < 16; group++) {
      const low = (bytes[at + 96 + (group & 7)]! >> (group < 8 ? 0 : 4)) & 15;
      const high = (bytes[at + 104 + (group & 3)]! >> (2 * (group >> 2))) & 3;
      const scale = d * ((low | (high << 4)) - 32);
      const shift = group & 6;
      const half = (group & 1) * 16;
      const qs = at + 32 + (group >> 3) * 32 + half;
      for (let j = 0; j < 16; j++) {
        const third = (bytes[at + half + j]! >> (group >> 1)) & 1;
        out[to + group * 16 + j] = scale * (((bytes[qs + j]! >> shift) & 3) - (third ? 0 : 4));
      }
    }
  }
}
