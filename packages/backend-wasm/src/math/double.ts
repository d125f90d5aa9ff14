import { type FunctionBuilder, f32x4, f64x2, i32x4, i64x2, type Local, type V128, v128 } from "../emit/index.ts";

/**
 * Functions on two f64, for f32 results that f32 arithmetic would lose digits of. Accurate to about 1e-11: far better
 * than f32, far worse than f64.
 */

/** Applies a function on two f64 to all four f32 lanes of each argument. */
export function inDouble(f: FunctionBuilder, args: readonly Local<"v128">[], body: (...halves: Local<"v128">[]) => V128): Local<"v128"> {
  const low = body(...args.map((x) => f.let(f64x2.promoteLowF32x4(x))));
  const lowResult = f.let(f32x4.demoteF64x2(low));
  const high = body(...args.map((x) => f.let(f64x2.promoteLowF32x4(f32x4.shuffle(x, x, [2, 3, 2, 3])))));
  return f.let(f32x4.shuffle(lowResult, f32x4.demoteF64x2(high), [0, 1, 4, 5]));
}

/** A vector with `x` in both f64 lanes. */
export function doubleSplat(f: FunctionBuilder, x: number): V128 {
  return f.pooled(new Uint8Array(new Float64Array([x, x]).buffer));
}

function bits(f: FunctionBuilder, high: number, low: number): V128 {
  return f.pooled(new Uint8Array(new Uint32Array([low, high, low, high]).buffer));
}

/** Natural logarithm: -Infinity for 0, Infinity for Infinity, NaN for NaN and below 0. Not for subnormal f64. */
export function logDouble(f: FunctionBuilder, x: Local<"v128">): Local<"v128"> {
  const d = (value: number): V128 => doubleSplat(f, value);
  // Subtracting the bits of sqrt(1/2) puts the mantissa between sqrt(1/2) and sqrt(2).
  const exponent = f.let(i64x2.shrS(i64x2.sub(x, bits(f, 0x3fe6a09e, 0x667f3bcd)), 52));
  const m = f.let(i64x2.sub(x, i64x2.shl(exponent, 52)));
  const e = f64x2.sub(v128.xor(i64x2.add(exponent, bits(f, 0, 0x400)), bits(f, 0x43300000, 0)), d(2 ** 52 + 1024));
  // log m = 2 atanh s, |s| ≤ 0.172: seven terms of the series.
  const s = f.let(f64x2.div(f64x2.sub(m, d(1)), f64x2.add(m, d(1))));
  const z = f.let(f64x2.mul(s, s));
  const series = [2 / 13, 2 / 11, 2 / 9, 2 / 7, 2 / 5, 2 / 3, 2].map(d).reduce((sum, c) => f64x2.add(f64x2.mul(sum, z), c));
  const result = f.let(f64x2.add(f64x2.mul(e, d(Math.LN2)), f64x2.mul(s, series)));
  f.set(result, v128.bitselect(f64x2.lt(x, d(Number.POSITIVE_INFINITY)), result, x));
  f.set(result, v128.bitselect(f64x2.eq(x, v128.zero()), d(Number.NEGATIVE_INFINITY), result));
  f.set(result, v128.bitselect(f64x2.lt(x, v128.zero()), d(Number.NaN), result));
  return result;
}

/** `e^x`, flushed to 0 and infinity where an f32 would be; NaN for NaN. */
export function expDouble(f: FunctionBuilder, x: V128): Local<"v128"> {
  const d = (value: number): V128 => doubleSplat(f, value);
  const clamped = f.let(f64x2.min(f64x2.max(x, d(-200)), d(200)));
  const n = f.let(f64x2.nearest(f64x2.mul(clamped, d(Math.LOG2E))));
  const r = f.let(f64x2.sub(clamped, f64x2.mul(n, d(Math.LN2))));
  const factorials = Array.from({ length: 10 }, (_, i) => Array.from({ length: 9 - i }, (_, k) => k + 1).reduce((p, k) => p / k, 1));
  const p = factorials.map(d).reduce((sum, c) => f64x2.add(f64x2.mul(sum, r), c));
  const power = i64x2.shl(i64x2.extendLowS(i32x4.add(i32x4.truncSatF64x2S(n), f.splatBits(1023))), 52);
  return f.let(f64x2.mul(p, power));
}

/** Sine and cosine, accurate to about 1e-13 up to |x| = 10^6. */
export function sineCosineDouble(f: FunctionBuilder, x: V128): { readonly sine: Local<"v128">; readonly cosine: Local<"v128"> } {
  const d = (value: number): V128 => doubleSplat(f, value);
  const angle = f.let(x);
  const n = f.let(f64x2.nearest(f64x2.mul(angle, d(2 / Math.PI))));
  // pi / 2 in two parts, whose products with integers up to 2^20 are exact, and the rest.
  const parts = [1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21];
  const r = f.let(parts.reduce<V128>((sum, c) => f64x2.sub(sum, f64x2.mul(n, d(c))), angle));
  const z = f.let(f64x2.mul(r, r));
  const series = (first: number): V128 => {
    const factorial = (k: number): number => (k < 2 ? 1 : k * factorial(k - 1));
    const terms = Array.from({ length: 8 }, (_, i) => (i % 2 === 0 ? 1 : -1) / factorial(first + 2 * i)).reverse();
    return terms.map(d).reduce((sum, c) => f64x2.add(f64x2.mul(sum, z), c));
  };
  const [sine, cosine] = [f.let(f64x2.mul(series(1), r)), f.let(series(0))];
  // Odd quarter turns swap sine and cosine. Bit 1 of n or n + 1 gives the sign.
  const turns = f.let(i64x2.extendLowS(i32x4.truncSatF64x2S(n)));
  const isOdd = f.let(i64x2.shrS(i64x2.shl(turns, 63), 63));
  const sign = (of: V128): V128 => v128.and(i64x2.shl(of, 62), d(-0));
  return {
    sine: f.let(v128.xor(v128.bitselect(isOdd, cosine, sine), sign(turns))),
    cosine: f.let(v128.xor(v128.bitselect(isOdd, sine, cosine), sign(i64x2.add(turns, bits(f, 0, 1))))),
  };
}
