import { halfAt } from "./half.ts";
import { kMin, kScale } from "./kScales.ts";

/**
 * q5_K, 256 weights in 176 bytes: `d` f16 | `dmin` f16 | `scales` 12 bytes (see kScales.ts) | `qh` 32 bytes | `qs` 128 bytes. The low
 * four bits lie as in q4_K; bit `k` of `qh[l]` is the fifth bit of weight `32 * k + l`: `w = d * scale * q - dmin * min`. Source:
 * `block_q5_K` of ggml-common.h.
 */
export function dequantizeQ5_K(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 176, to += 256) {
    const d = halfAt(bytes, at);
    const dmin = halfAt(bytes, at + 2);
    for (let group = 0; group < 8; group++) {
      const scale = d * kScale(bytes, at + 4, group);
      const min = dmin * kMin(bytes, at + 4, group);
      const shift = (group & 1) * 4;
      const qs = at + 48 + (group >> 1) * 32;
      for (let j = 0; j < 32; j++) {
        const fifth = (bytes[at + 16 + j]! >> group) & 1;
        out[to + group * 32 + j] = scale * (((bytes[qs + j]! >> shift) & 15) | (fifth << 4)) - min;
      }
    }
  }
}
