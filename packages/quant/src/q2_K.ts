import { halfAt } from "./half.ts";

/**
 * q2_K, 256 weights in 84 bytes: `scales` 16 bytes | `qs` 64 bytes | `d` f16 | `dmin` f16. Each group of 16 weights has a byte of
 * `scales`: low nibble scale, high nibble minimum. Per 128 weights there are 32 bytes of `qs`, whose bit pairs 0, 2, 4, 6 hold 32
 * weights each: `w = d * scale * q - dmin * min`. Source: `block_q2_K` of ggml-common.h.
 */
export function dequantizeQ2_K(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 84, to += 256) {
    const d = halfAt(bytes, at + 80);
    const dmin = halfAt(bytes, at + 82);
    for (let group = 0; group < 16; group++) {
      const packed = bytes[at + group]!;
      const scale = d * (packed & 15);
      const min = dmin * (packed >> 4);
      const shift = group & 6;
      const qs = at + 16 + (group >> 3) * 32 + (group & 1) * 16;
      for (let j = 0; j < 16; j++) out[to + group * 16 + j] = scale * ((bytes[qs + j]! >> shift) & 3) - min;
    }
  }
}
