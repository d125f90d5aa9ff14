import { halfAt } from "../floats/half.ts";

const powersOf3 = [1, 3, 9, 27, 81] as const;

/**
 * tq1_0, 256 ternary weights in 54 bytes: `qs` 48 bytes | `qh` 4 bytes | `d` f16. A byte holds five base-3 digits (`qh`: four) as the
 * fixed-point fraction `value / 243 * 256`, rounded up, so that digit `n` is the integer part of `3 * frac(byte * 3^n / 256)`. Digit `n` of
 * the first 32 bytes gives weights `32 * n …`, of the next 16 `160 + 16 * n …`, of `qh` `240 + 4 * n …`: `w = d * (digit - 1)`.
 * Source: `block_tq1_0` of ggml-common.h.
 */
export function dequantizeTq1_0(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 54, to += 256) {
    const d = halfAt(bytes, at + 52);
    unpackDigits(bytes, at, 32, 5, d, out, to);
    unpackDigits(bytes, at + 32, 16, 5, d, out, to + 160);
    unpackDigits(bytes, at + 48, 4, 4, d, out, to + 240);
  }
}

function unpackDigits(bytes: Uint8Array, at: number, count: number, digits: number, d: number, out: Float32Array, to: number): void {
  for (let n = 0; n < digits; n++) {
    for (let j = 0; j < count; j++) {
      const fraction = (bytes[at + j]! * powersOf3[n]!) & 255;
      out[to + n * count + j] = d * (((fraction * 3) >> 8) - 1);
    }
  }
}
