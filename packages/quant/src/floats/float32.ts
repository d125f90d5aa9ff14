/**
 * ggml's C rounds after every f32 operation and adds in order of the index. JavaScript computes in f64, so the quantisers round each
 * sum, product, quotient and square root of f32 values with this: the result is the same as that of the f32 operation. The innermost
 * loops call `Math.fround` itself, which engines compile to one instruction without looking up what is called.
 */
export const f32: (x: number) => number = Math.fround;

const scratch = new Float32Array(1);
const scratchBits = new Uint32Array(scratch.buffer);

/** The bits of `x`, rounded to f32, as an unsigned number. */
export function bitsOfFloat(x: number): number {
  scratch[0] = x;
  return scratchBits[0]!;
}

/** The f32 with these bits. */
export function floatOfBits(bits: number): number {
  scratchBits[0] = bits;
  return scratch[0]!;
}

/** Writes `x[i]^2` for `n` values from `from` on. */
export function squares(x: Float32Array, from: number, n: number, out: Float32Array): void {
  for (let i = 0; i < n; i++) {
    const value = x[from + i]!;
    out[i] = value * value;
  }
}

/** `sum(x[i]^2)` over `[from, from + n)`. */
export function sumOfSquares(x: Float32Array, from: number, n: number): number {
  let sum = 0;
  for (let i = from; i < from + n; i++) {
    const value = x[i]!;
    sum = Math.fround(sum + Math.fround(value * value));
  }
  return sum;
}

/** The value of largest magnitude in `[from, from + n)`, the first of equals, with its sign; 0 where all are. */
export function largestValue(x: Float32Array, from: number, n: number): number {
  let largest = 0;
  let magnitude = 0;
  for (let i = from; i < from + n; i++) {
    const value = x[i]!;
    if (Math.abs(value) > magnitude) {
      magnitude = Math.abs(value);
      largest = value;
    }
  }
  return largest;
}

export function clamp(x: number, low: number, high: number): number {
  return Math.max(low, Math.min(high, x));
}

/**
 * Weights of the squared errors where an importance matrix is given: `weights[i] = importance[from + i] * sqrt(variance + x[from + i]^2)`.
 */
export function importanceWeights(
  x: Float32Array,
  from: number,
  n: number,
  importance: Float32Array,
  variance: number,
  weights: Float32Array,
): void {
  for (let i = 0; i < n; i++) {
    const value = x[from + i]!;
    weights[i] = importance[from + i]! * Math.fround(Math.sqrt(Math.fround(variance + Math.fround(value * value))));
  }
}
