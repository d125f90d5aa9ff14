import { dequantizeTq2_0 } from "./tq2_0.ts";

const powersOf3 = [1, 3, 9, 27, 81] as const;

/**
 * tq1_0, 256 ternary weights in 54 bytes: `qs` 48 bytes | `qh` 4 bytes | `d` f16. A byte holds five base-3 digits (`qh`: four) as the
 * fixed-point fraction `value / 243 * 256`, rounded up, so that digit `n` is the integer part of `3 * frac(byte * 3^n / 256)`. Digit `n` of
 * the first 32 bytes gives weights `32 * n …`, of the next 16 `160 + 16 * n …`, of `qh` `240 + 4 * n …`: `w = d * (digit - 1)`.
 * Source: `block_tq1_0` of ggml-common.h.
 */
export function dequantizeTq1_0(bytes: Uint8Array, out: Float32Array): void {
  dequantizeTq2_0(tq1ToTq2(bytes), out);
}

/** Blocks of tq2_0 with the weights of blocks of tq1_0. */
export function tq1ToTq2(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const blocks = new Uint8Array((bytes.length / 54) * 66);
  for (let at = 0, to = 0; at < bytes.length; at += 54, to += 66) {
    const writeDigits = (from: number, count: number, digits: number, first: number): void => {
      for (let n = 0; n < digits; n++) {
        for (let j = 0; j < count; j++) {
          const fraction = (bytes[at + from + j]! * powersOf3[n]!) & 255;
          const weight = first + n * count + j;
          blocks[to + (weight >> 7) * 32 + (weight & 31)]! |= ((fraction * 3) >> 8) << (2 * ((weight >> 5) & 3));
        }
      }
    };
    writeDigits(0, 32, 5, 0);
    writeDigits(32, 16, 5, 160);
    writeDigits(48, 4, 4, 240);
    blocks.set(bytes.subarray(at + 52, at + 54), to + 64);
  }
  return blocks;
}
