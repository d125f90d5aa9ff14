import { halfAt, setHalfAt } from "../floats/half.ts";
import { type Rounding, roundHalfAway, roundHalfEven } from "../quantize/rounding.ts";
import { signedAt } from "./signed.ts";

/** q8_0, 32 weights in 34 bytes: `d` f16 | `qs` 32 × i8: `w = d * q`. Source: `block_q8_0` of ggml-common.h. */
export function dequantizeQ8_0(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 34, to += 32) {
    const d = halfAt(bytes, at);
    for (let j = 0; j < 32; j++) out[to + j] = d * signedAt(bytes, at + 2 + j);
  }
}

/** Quantises a row: `d = max|x| / 127`, `q = round(x / d)`. Source: `quantize_row_q8_0_ref` of ggml-quants.c. */
export function quantizeQ8_0(row: Float32Array, out: Uint8Array, rounding: Rounding): void {
  for (let at = 0, from = 0; at < out.length; at += 34, from += 32) {
    setHalfAt(out, at, quantize32(row, from, out, at + 2, rounding));
  }
}

/**
 * Quantises 32 values to signed bytes at `out[to]` and returns the scale in f32. The reference code multiplies by `1 / d` and rounds halves
 * away from zero; the SIMD code of x86 multiplies by `127 / max` and rounds them to even.
 */
export function quantize32(row: Float32Array, from: number, out: Uint8Array, to: number, rounding: Rounding): number {
  let largest = 0;
  for (let j = 0; j < 32; j++) {
    const magnitude = Math.abs(row[from + j]!);
    if (magnitude > largest) largest = magnitude;
  }
  const d = Math.fround(largest / 127);
  if (rounding === "x86") {
    const inverse = largest === 0 ? 0 : Math.fround(127 / largest);
    for (let j = 0; j < 32; j++) out[to + j] = roundHalfEven(Math.fround(row[from + j]! * inverse));
  } else {
    const inverse = d === 0 ? 0 : Math.fround(1 / d);
    for (let j = 0; j < 32; j++) out[to + j] = roundHalfAway(Math.fround(row[from + j]! * inverse));
  }
  return d;
}
