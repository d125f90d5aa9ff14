import { doubledE2m1, writeLevels } from "./levels.ts";

/**
 * nvfp4, 64 weights in 36 bytes: `d` 4 bytes | `qs` 32 bytes. Each 16 weights have a scale, an unsigned 8-bit float E4M3, and 8 bytes of
 * `qs`: low nibbles are the first eight weights, high ones the rest, each a 4-bit float E2M1: `w = scale * level[q]`. Source:
 * `block_nvfp4` of ggml-common.h.
 */
export function dequantizeNvfp4(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 36, to += 64) {
    for (let group = 0; group < 4; group++) {
      const scale = halvedE4m3(bytes[at + group]!);
      writeLevels(doubledE2m1, bytes, at + 4 + group * 8, 8, scale, out, to + group * 16);
    }
  }
}

/**
 * Half of the float with 4 exponent bits (bias 7) and 3 mantissa bits in the low seven bits of `x`; halved because the levels are doubled.
 * 0x7f, NaN in the format, counts as 0 as it does in ggml (`ggml_ue4m3_to_fp32` of ggml-impl.h).
 */
export function halvedE4m3(x: number): number {
  if (x === 0x7f) return 0;
  const exponent = (x >> 3) & 15;
  const mantissa = x & 7;
  return exponent === 0 ? mantissa * 2 ** -10 : (8 + mantissa) * 2 ** (exponent - 11);
}
