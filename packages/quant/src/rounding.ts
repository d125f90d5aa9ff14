/**
 * Which of ggml's two codes for q8_0 and q8_1 to follow, bit for bit: `reference`, the portable C that also quantises model files, or
 * `x86`,
 * the SIMD code that its CPU backend runs on activations and caches.
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
