import { elementAt } from "@centella/core/backend";
import type { Bool, Emitter, F32, U32 } from "../emitter.ts";
import { bitsOf } from "./values.ts";

/** `c[0] x^(n-1) + … + c[n-1]` */
export function polynomial(k: Emitter, x: F32, coefficients: readonly number[]): F32 {
  const [first = 0, ...rest] = coefficients;
  return rest.reduce<F32>((sum, coefficient) => k.fma(sum, x, coefficient), k.constant("f32", first));
}

export function withSignOf(k: Emitter, magnitude: F32, x: F32): F32 {
  const sign = k.and(k.bitcast("u32", x), 0x80000000);
  return k.bitcast("f32", k.or(k.bitcast("u32", k.abs(magnitude)), sign));
}

/** True for -0 and negative numbers. Tests bits, so that devices that flush denormals still see their sign. */
export function isNegative(k: Emitter, x: F32): Bool {
  return k.compare("ge", k.bitcast("u32", x), 0x80000000);
}

/** `|x| < limit`, false for NaN. Compares bits, which takes one instruction everywhere. */
export function isSmaller(k: Emitter, x: F32, limit: number): Bool {
  return k.compare("lt", k.bitcast("u32", k.abs(x)), bitsOf("f32", limit));
}

/** `1 / x` */
export function inverse(k: Emitter, x: F32): F32 {
  return k.div(k.constant("f32", 1), x);
}

/**
 * `1 / d` for d from 1 to 2, within an ulp: the parabola with the least relative error, 1/99, then two steps of Newton's method. Correctly
 * rounded divisions branch, and keep neighbouring results from being computed side by side.
 */
function inverseUpToTwo(k: Emitter, d: F32): F32 {
  const refined = (inverse: F32): F32 => k.fma(inverse, k.fma(k.neg(inverse), d, 1), inverse);
  return refined(refined(polynomial(k, d, [32 / 99, -144 / 99, 210 / 99])));
}

/** `1 / (1 + exp(-x))`, from `exp(-|x|)`, which does not overflow. */
export function logistic(k: Emitter, x: F32): F32 {
  const e = k.exp(k.neg(k.abs(x)));
  return k.mul(k.select(isNegative(k, x), e, 1), inverseUpToTwo(k, k.add(e, 1)));
}

const expCoefficients = [1.98756915e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1];

/** `exp(r) - 1` for |r| up to ln(2)/2 (Cephes' expf, by S. Moshier). */
export function smallExpm1(k: Emitter, r: F32): F32 {
  return k.fma(polynomial(k, r, expCoefficients), k.mul(r, r), r);
}

/** `exp(x) - 1`, accurate near 0. */
export function expm1(k: Emitter, x: F32): F32 {
  return k.select(isSmaller(k, x, Math.LN2 / 2), smallExpm1(k, x), k.sub(k.exp(x), 1));
}

const tanhCoefficients = [-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1];

/** Near 0 a polynomial (Cephes' tanhf, by S. Moshier), elsewhere from `exp(-2|x|)`, which does not overflow. */
export function tanh(k: Emitter, x: F32): F32 {
  const square = k.mul(x, x);
  const small = k.fma(k.mul(polynomial(k, square, tanhCoefficients), square), x, x);
  const e = k.exp(k.mul(k.abs(x), -2));
  const large = k.mul(k.sub(k.constant("f32", 1), e), inverseUpToTwo(k, k.add(e, 1)));
  return k.select(isSmaller(k, x, 0.625), small, withSignOf(k, large, x));
}

/** `log(1 + exp(x))` as `max(x, 0) + log(1 + e)` with `e = exp(-|x|)`, the logarithm as the series of `2 artanh(e / (2 + e))`. */
export function softplus(k: Emitter, x: F32): F32 {
  const e = k.exp(k.neg(k.abs(x)));
  const s = k.div(e, k.add(e, 2));
  const q = k.mul(s, s);
  const series = k.mul(k.mul(s, 2), polynomial(k, q, [1 / 11, 1 / 9, 1 / 7, 1 / 5, 1 / 3, 1]));
  return k.add(k.select(isNegative(k, x), k.constant("f32", 0), x), series);
}

/** `log(1 + u)` for u from 0: a series of the area tangent where `1 + u` would lose digits. */
export function log1p(k: Emitter, u: F32): F32 {
  const s = k.div(u, k.add(u, 2));
  const q = k.mul(s, s);
  const small = k.mul(k.mul(s, 2), polynomial(k, q, [1 / 9, 1 / 7, 1 / 5, 1 / 3, 1]));
  return k.select(k.compare("lt", u, 0.3), small, k.log(k.add(u, 1)));
}

const logCoefficients = [
  7.0376836292e-2, -1.151461031e-1, 1.167699874e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1,
  3.3333331174e-1,
];

/** Natural logarithm of a positive finite number with a relative error of 2e-7 (Cephes' logf, by S. Moshier), denormals too. */
export function preciseLog(k: Emitter, x: F32): F32 {
  const given = k.bitcast("u32", x);
  const isSmall = k.compare("lt", given, 0x00800000);
  // A denormal is its mantissa times 2^-149.
  const widened = k.bitcast("u32", k.convert("f32", given));
  const bits = k.select(isSmall, widened, given);
  // Mantissas from sqrt(1/2) to sqrt(2).
  const shifted = k.sub(bits, 0x3f3504f3);
  const exponent = k.sub(k.convert("f32", k.shiftRight(k.add(shifted, 0x40000000), 23)), 128);
  const n = k.sub(exponent, k.select(isSmall, k.constant("f32", 149), 0));
  const u = k.sub(k.bitcast("f32", k.add(k.and(shifted, 0x007fffff), 0x3f3504f3)), 1);
  const z = k.mul(u, u);
  const tail = k.fma(k.mul(k.mul(u, z), polynomial(k, u, logCoefficients)), 1, k.mul(z, -0.5));
  return k.add(k.fma(n, 0.693359375, u), k.fma(n, -2.1219444e-4, tail));
}

// 2 / π as 32-bit words, preceded by a zero word.
const twoOverPi = [0x00000000, 0x28be60db, 0x9391054a, 0x7f09d5f4, 0x7d4d3770, 0x36d8a566, 0x4f10e410];

/**
 * `x - q π/2` with |r| up to π/4, and q modulo 4, exact to f32 for every finite x: the product with 2 / π in 96 bits (Payne & Hanek, 1983,
 * "Radian reduction for trigonometric functions").
 */
export function reduceAngle(k: Emitter, x: F32): { readonly r: F32; readonly q: U32 } {
  const bits = k.bitcast("u32", x);
  const exponent = k.shiftRight(k.and(bits, 0x7fffffff), 23);
  const isSmall = k.compare("lt", k.and(bits, 0x7fffffff), 0x3f490fdb);
  const mantissa = k.or(k.shiftLeft(bits, 8), 0x80000000);
  const e = k.select(isSmall, k.constant("u32", 0), k.sub(exponent, 126));
  const word = k.shiftRight(e, 5);
  const shift = k.and(e, 31);
  const wordAt = (ahead: number): U32 =>
    [1, 2, 3, 4].reduce<U32>(
      // No finite argument reads bits past the table.
      (value, at) => k.select(k.compare("eq", word, at), k.constant("u32", twoOverPi[at + ahead] ?? 0), value),
      k.constant("u32", elementAt(twoOverPi, ahead)),
    );
  const words = [wordAt(0), wordAt(1), wordAt(2), wordAt(3)] as const;
  const isShifted = k.compare("ne", shift, 0);
  const back = k.and(k.sub(k.constant("u32", 32), shift), 31);
  const joined = (word: U32, next: U32): U32 => k.select(isShifted, k.or(k.shiftLeft(word, shift), k.shiftRight(next, back)), word);
  const [high, middle, low] = [joined(words[0], words[1]), joined(words[1], words[2]), joined(words[2], words[3])];
  // The product's 64 bits from 2^61 on: two of the quotient, then the fraction.
  const third = k.multiplyHigh(mantissa, low);
  const lowWord = k.add(k.mul(mantissa, middle), third);
  const carry = k.select(k.compare("lt", lowWord, third), k.constant("u32", 1), 0);
  const highWord = k.add(k.add(k.mul(mantissa, high), k.multiplyHigh(mantissa, middle)), carry);
  // Rounded to the nearest quadrant.
  const fraction = k.and(highWord, 0x3fffffff);
  const isUp = k.compare("ge", fraction, 0x20000000);
  const quadrant = k.add(k.shiftRight(highWord, 30), k.select(isUp, k.constant("u32", 1), 0));
  // The magnitude of the remainder: the distance to the next quadrant if it was rounded up.
  const lowRest = k.select(isUp, k.sub(k.constant("u32", 0), lowWord), lowWord);
  const borrow = k.select(k.compare("ne", lowWord, 0), k.constant("u32", 1), 0);
  const highRest = k.select(isUp, k.sub(k.sub(k.constant("u32", 0x40000000), fraction), borrow), fraction);
  const rest = k.fma(k.convert("f32", highRest), 2 ** -30, k.mul(k.convert("f32", lowRest), 2 ** -62));
  const magnitude = k.mul(rest, Math.PI / 2);
  const isNegative = k.compare("lt", k.bitcast("i32", bits), 0);
  const r = k.select(isUp, k.neg(magnitude), magnitude);
  const signedQuadrant = k.select(isNegative, k.sub(k.constant("u32", 4), k.and(quadrant, 3)), quadrant);
  return {
    r: k.select(isSmall, x, k.select(isNegative, k.neg(r), r)),
    q: k.select(isSmall, k.constant("u32", 0), k.and(signedQuadrant, 3)),
  };
}

/** Sine and cosine of `r + q π/2`, |r| up to π/4, by Cephes' polynomials (S. Moshier). */
export function sinCosOf(k: Emitter, { r, q }: { readonly r: F32; readonly q: U32 }): { readonly sin: F32; readonly cos: F32 } {
  const z = k.mul(r, r);
  const sin = k.fma(k.mul(polynomial(k, z, [-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1]), z), r, r);
  const cosTail = k.mul(k.mul(z, z), polynomial(k, z, [2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2]));
  const cos = k.add(k.fma(z, -0.5, cosTail), 1);
  const isOdd = k.compare("ne", k.and(q, 1), 0);
  const negate = (x: F32, condition: Bool): F32 => k.select(condition, k.neg(x), x);
  return {
    sin: negate(k.select(isOdd, cos, sin), k.compare("ge", q, 2)),
    cos: negate(k.select(isOdd, sin, cos), k.compare("ne", k.and(k.add(q, 1), 2), 0)),
  };
}

/** Sine and cosine of x in radians; NaN for infinities and NaN. */
export function sinCos(k: Emitter, x: F32): { readonly sin: F32; readonly cos: F32 } {
  const { sin, cos } = sinCosOf(k, reduceAngle(k, x));
  const isBounded = k.compare("lt", k.abs(x), Number.POSITIVE_INFINITY);
  return { sin: k.select(isBounded, sin, Number.NaN), cos: k.select(isBounded, cos, Number.NaN) };
}

/** f32 as a u32 of the same order, both zeros equal, a NaN the largest; no real number gives 0. */
export function orderKey(k: Emitter, x: F32): U32 {
  const bits = k.bitcast("u32", x);
  const magnitude = k.and(bits, 0x7fffffff);
  const isNegative = k.both(k.compare("ge", bits, 0x80000000), k.compare("ne", magnitude, 0));
  const key = k.select(isNegative, k.xor(bits, 0xffffffff), k.or(bits, 0x80000000));
  return k.select(k.compare("gt", magnitude, 0x7f800000), k.constant("u32", 0xffffffff), key);
}

/** {@link orderKey} of Infinity. */
export const infinityKey = 0xff800000;

/** The number with this {@link orderKey}. */
export function ofOrderKey(k: Emitter, key: U32): F32 {
  return k.bitcast("f32", k.xor(key, k.select(k.compare("ge", key, 0x80000000), k.constant("u32", 0x80000000), 0xffffffff)));
}
