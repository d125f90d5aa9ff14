import { bitsOfFloat } from "../floats/float32.ts";
/**
 * Selects the ggml code whose bits q8_0 and q8_1 get: `reference` is the portable C that also quantises model files, `x86` the SIMD code
 * that ggml's CPU backend runs on activations and caches.
 */
export type Rounding = "reference" | "x86";

/** Nearest integer, halves away from zero (C's `roundf`). */
export function roundHalfAway(x: number): number {
  return x < 0 ? -Math.floor(0.5 - x) : Math.floor(x + 0.5);
}

/** Nearest integer, halves to even, for an f32 `|x| < 2^22`: the f32 spacing at 1.5 * 2^23 is one. */
export function roundHalfEven(x: number): number {
  return Math.fround(x + 12582912) - 12582912;
}

/** The f64 spacing at 1.5 * 2^52 is one: `x + toWhole - toWhole` rounds halves to even, in f64 without a step through f32. */
export const toWhole = 6755399441055744;

/**
 * {@link roundHalfEven} as the searches of ggml's quantisers compute it (`nearest_int` of ggml-quants.c): the mantissa of `x + 1.5 * 2^23`.
 * A trial scale may produce values of `2^22` and more. Their result is not a rounding, but ggml writes it, so it must be the same here.
 */
export function nearestInt(x: number): number {
  const sum = Math.fround(x + 12582912);
  if (sum >= 8388608 && sum < 16777216) return sum - 12582912;
  return (bitsOfFloat(sum) & 0x7fffff) - 0x400000;
}
