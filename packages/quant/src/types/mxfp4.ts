import { doubledE2m1, writeLevels } from "./levels.ts";

/**
 * mxfp4, 32 weights in 17 bytes: `e` 1 byte | `qs` 16 bytes, nibbles as in q4_0, each a 4-bit float E2M1. The scale is the power of two
 * `2^(e - 127)`; halved here because the levels are doubled: `w = 2^(e - 128) * level[q]`. 255, NaN in the OCP format, is a plain
 * exponent in ggml. Source: `block_mxfp4` of ggml-common.h, `ggml_e8m0_to_fp32_half` of ggml-impl.h.
 */
export function dequantizeMxfp4(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 17, to += 32) {
    writeLevels(doubledE2m1, bytes, at + 1, 16, 2 ** (bytes[at]! - 128), out, to);
  }
}
