import { halfAt, setHalfAt } from "../floats/half.ts";
import type { Rounding } from "../quantize/rounding.ts";
import { quantize32 } from "./q8_0.ts";
import { signedAt } from "./signed.ts";

/**
 * q8_1, 32 values in 36 bytes: `d` f16 | `s` f16 | `qs` 32 × i8: `w = d * q`, and `s = d * sum(q)` for the minima of the weights it is
 * multiplied with. An activation format; ggml stores no tensors in it. Source: `block_q8_1` of ggml-common.h.
 */
export function dequantizeQ8_1(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 36, to += 32) {
    const d = halfAt(bytes, at);
    for (let j = 0; j < 32; j++) out[to + j] = d * signedAt(bytes, at + 4 + j);
  }
}

/**
 * Quantises a row: as for q8_0; `s` is computed from the f32 scale, before that is rounded to f16. Source: `quantize_row_q8_1_ref` of
 * ggml-quants.c.
 */
export function quantizeQ8_1(row: Float32Array, out: Uint8Array, rounding: Rounding): void {
  for (let at = 0, from = 0; at < out.length; at += 36, from += 32) {
    const d = quantize32(row, from, out, at + 4, rounding);
    let sum = 0;
    for (let j = 0; j < 32; j++) sum += signedAt(out, at + 4 + j);
    setHalfAt(out, at, d);
    setHalfAt(out, at + 2, Math.fround(d * sum));
  }
}
