import { halfAt } from "./half.ts";
import { signed } from "./signed.ts";

/**
 * q6_K, 256 weights in 210 bytes: `ql` 128 bytes | `qh` 64 bytes | `scales` 16 × i8 | `d` f16. Each 128 weights have 64 bytes of `ql`
 * and 32 of `qh`; their quarter `k` takes the nibble `k >> 1` of `ql[32 * (k & 1) + l]` and the bit pair `k` of `qh[l]`; one scale per
 * 16 weights: `w = d * scale * (q - 32)`. Source: `block_q6_K` of ggml-common.h.
 */
export function dequantizeQ6_K(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 210, to += 256) {
    const d = halfAt(bytes, at + 208);
    for (let quarter = 0; quarter < 8; quarter++) {
      const half = quarter >> 2;
      const k = quarter & 3;
      const ql = at + half * 64 + (k & 1) * 32;
      const qh = at + 128 + half * 32;
      const scales = at + 192 + quarter * 2;
      for (let l = 0; l < 32; l++) {
        const q = ((bytes[ql + l]! >> ((k >> 1) * 4)) & 15) | (((bytes[qh + l]! >> (2 * k)) & 3) << 4);
        out[to + quarter * 32 + l] = d * signed(bytes[scales + (l >> 4)]!) * (q - 32);
      }
    }
  }
}
