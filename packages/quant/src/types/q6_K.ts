import { f32, largestValue, squares } from "../floats/float32.ts";
import { halfAt, setHalfAt } from "../floats/half.ts";
import { nearestInt } from "../quantize/rounding.ts";
import { recode, symmetricScale, tiny } from "../quantize/symmetricScale.ts";
import { signedAt } from "./signed.ts";

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
        out[to + quarter * 32 + l] = d * signedAt(bytes, scales + (l >> 4)) * (q - 32);
      }
    }
  }
}

const codes = new Uint8Array(256);
const scales = new Float32Array(16);
const scaleCodes = new Int8Array(16);
const weights = new Float32Array(16);

/**
 * Quantises a row: finds a scale for each group ({@link symmetricScale} with weights `x^2` or `importance`), rounds these to multiples
 * `[-128, 127]` of a common `d`, and computes the codes for the rounded scales. Source: `quantize_q6_K` of ggml-quants.c.
 */
export function quantizeQ6_K(row: Float32Array, out: Uint8Array, importance?: Float32Array): void {
  for (let at = 0, from = 0; at < out.length; at += 210, from += 256) {
    for (let group = 0; group < 16; group++) {
      const start = from + group * 16;
      if (importance === undefined) squares(row, start, 16, weights);
      else weights.set(importance.subarray(start, start + 16));
      scales[group] = symmetricScale(row, start, 16, 32, weights, codes, group * 16);
    }
    const largest = largestValue(scales, 0, 16);
    if (Math.abs(largest) < tiny) {
      out.fill(0, at, at + 210);
      continue;
    }
    const inverse = f32(-128 / largest);
    setHalfAt(out, at + 208, f32(1 / inverse));
    for (let group = 0; group < 16; group++) {
      const code = Math.min(127, nearestInt(f32(inverse * scales[group]!)));
      scaleCodes[group] = code;
      out[at + 192 + group] = code;
    }
    recode(row, from, halfAt(out, at + 208), scaleCodes, 32, codes);
    for (let i = 0; i < 64; i++) {
      const low = (i >> 5) * 128 + (i & 31);
      const ql = at + (i >> 5) * 64 + (i & 31);
      const quarters = [codes[low]!, codes[low + 32]!, codes[low + 64]!, codes[low + 96]!] as const;
      out[ql] = (quarters[0] & 15) | ((quarters[2] & 15) << 4);
      out[ql + 32] = (quarters[1] & 15) | ((quarters[3] & 15) << 4);
      out[at + 128 + i] = (quarters[0] >> 4) | ((quarters[1] >> 4) << 2) | ((quarters[2] >> 4) << 4) | ((quarters[3] >> 4) << 6);
    }
  }
}
