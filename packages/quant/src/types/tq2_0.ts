import { halfAt } from "../floats/half.ts";

/**
 * tq2_0, 256 ternary weights in 66 bytes: `qs` 64 bytes | `d` f16. Each 128 weights have 32 bytes, whose bit pairs 0, 2, 4, 6 hold 32
 * weights each: `w = d * (q - 1)`. Source: `block_tq2_0` of ggml-common.h.
 */
export function dequantizeTq2_0(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 66, to += 256) {
    const d = halfAt(bytes, at + 64);
    for (let group = 0; group < 8; group++) {
      const qs = at + (group >> 2) * 32;
      const shift = (group & 3) * 2;
      for (let j = 0; j < 32; j++) out[to + group * 32 + j] = d * (((bytes[qs + j]! >> shift) & 3) - 1);
    }
  }
}
