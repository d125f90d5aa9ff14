import { halfAt } from "./half.ts";
import { kMin, kScale } from "./kScales.ts";

/**
 * q4_K, 256 weights in 144 bytes: `d` f16 | `dmin` f16 | `scales` 12 bytes (see kScales.ts) | `qs` 128 bytes. Each 64 weights share
 * 32 bytes of `qs`: the low nibbles are the first 32, the high ones the next: `w = d * scale * q - dmin * min`, one scale and
 * minimum per 32. Source: `block_q4_K` of ggml-common.h.
 */
export function dequantizeQ4_K(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 144, to += 256) {
    const d = halfAt(bytes, at);
    const dmin = halfAt(bytes, at + 2);
    for (let group = 0; group < 8; group++) {
      const scale = d * kScale(bytes, at + 4, group);
      const min = dmin * kMin(bytes, at + 4, group);
      const shift = (group & 1) * 4;
      const qs = at + 16 + (group >> 1) * 32;
      for (let j = 0; j < 32; j++) out[to + group * 32 + j] = scale * ((bytes[qs + j]! >> shift) & 15) - min;
    }
  }
}
