import { floatOfBits } from "../floats/float32.ts";
import { wordAt } from "../floats/half.ts";
import { roundHalfEven } from "../quantize/rounding.ts";
import { signedAt } from "./signed.ts";

const scratch = new Float32Array(1);
const scratchBytes = new Uint8Array(scratch.buffer);

/**
 * q8_K, 256 values in 292 bytes: `d` f32 | `qs` 256 × i8 | `bsums` 16 × i16, the sums of `qs` per 16: `w = d * q`. An activation format;
 * ggml stores no tensors in it. Source: `block_q8_K` of ggml-common.h.
 */
export function dequantizeQ8_K(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 292, to += 256) {
    const d = floatOfBits(wordAt(bytes, at));
    for (let j = 0; j < 256; j++) out[to + j] = d * signedAt(bytes, at + 4 + j);
  }
}

/**
 * Quantises a row: with `m` the value of largest magnitude (the first of equals), signed, `inverse = -127 / m`, `q = min(127, round(x * inverse))`
 * with halves to even, `d = 1 / inverse`. A block of zeros has `d = 0` and, where ggml leaves them unset, zero sums. Source:
 * `quantize_row_q8_K_ref` of ggml-quants.c, which every x86 build uses.
 */
export function quantizeQ8_K(row: Float32Array, out: Uint8Array): void {
  for (let at = 0, from = 0; at < out.length; at += 292, from += 256) {
    let largest = 0;
    let m = 0;
    for (let j = 0; j < 256; j++) {
      const value = row[from + j]!;
      const magnitude = Math.abs(value);
      if (magnitude > largest) {
        largest = magnitude;
        m = value;
      }
    }
    if (m === 0) {
      out.fill(0, at, at + 292);
      continue;
    }
    const inverse = Math.fround(-127 / m);
    for (let group = 0; group < 16; group++) {
      let sum = 0;
      for (let j = group * 16; j < group * 16 + 16; j++) {
        const q = Math.min(127, roundHalfEven(Math.fround(inverse * row[from + j]!)));
        out[at + 4 + j] = q;
        sum += q;
      }
      out[at + 260 + 2 * group] = sum;
      out[at + 261 + 2 * group] = sum >> 8;
    }
    scratch[0] = 1 / inverse;
    out.set(scratchBytes, at);
  }
}
