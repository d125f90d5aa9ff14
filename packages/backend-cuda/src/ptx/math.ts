import type { PtxBuilder } from "./builder.ts";
import type { F32, F64 } from "./types.ts";

/**
 * Elementary functions as polynomials, from instructions whose results the PTX ISA fixes to the bit: every GPU gives the
 * same numbers. Coefficients are those of Cephes (S. Moshier), single precision; relative errors stay under 3e-7.
 */

// ln 2 in two parts: n * high is exact for |n| < 2^15.
const ln2High = 0.693359375;
const ln2Low = -2.1219444e-4;
const expCoefficients = [1.98756915e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1];
const tanhCoefficients = [-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1];

/** `c[0] x^(n-1) + … + c[n-1]` */
function polynomial<T extends "f32" | "f64">(k: PtxBuilder, x: T extends "f32" ? F32 : F64, coefficients: readonly number[], type: T) {
  let sum = k.constant(type, coefficients[0]!);
  for (const coefficient of coefficients.slice(1)) sum = k.fma(sum, x as typeof sum, coefficient);
  return sum;
}

/** `exp(r) - 1` for |r| up to ln(2)/2. */
function expm1Small(k: PtxBuilder, r: F32): F32 {
  return k.fma(polynomial(k, r, expCoefficients, "f32"), k.mul(r, r), r);
}

/** `exp(x)`; overflows to inf, underflows through the denormals to 0, NaN stays NaN. */
export function exp(k: PtxBuilder, x: F32): F32 {
  const clamped = k.max(k.min(x, 89), -104);
  const n = k.round(k.mul(clamped, Math.LOG2E));
  const r = k.fma(n, -ln2Low, k.fma(n, -ln2High, clamped));
  const mantissa = k.add(expm1Small(k, r), 1);
  // 2^n in two factors, since n may lie outside the exponents of normal numbers.
  const exponent = k.convert("s32", n);
  const half = k.shiftRight(exponent, 1);
  const powerOfTwo = (e: typeof half): F32 => k.bitcast("f32", k.shiftLeft(k.add(e, 127), 23));
  return k.mul(k.mul(mantissa, powerOfTwo(half)), powerOfTwo(k.sub(exponent, half)));
}

/** `exp(x) - 1`, accurate near 0. */
export function expm1(k: PtxBuilder, x: F32): F32 {
  const small = k.compare("lt", k.abs(x), Math.LN2 / 2);
  return k.select(small, expm1Small(k, x), k.sub(exp(k, x), 1));
}

/** Natural logarithm; absolute error under 2e-7 near 1. */
export function log(k: PtxBuilder, x: F32): F32 {
  return k.mul(k.log2(x), Math.LN2);
}

/** `1 / (1 + exp(-x))`, from `exp(-|x|)`, which does not overflow. */
export function sigmoid(k: PtxBuilder, x: F32): F32 {
  const e = exp(k, k.neg(k.abs(x)));
  const numerator = k.select(k.compare("lt", x, 0), e, k.constant("f32", 1));
  return k.div(numerator, k.add(e, 1));
}

/** `log(1 + exp(x))` as `max(x, 0) + log(1 + exp(-|x|))`; absolute error under 3e-7. */
export function softplus(k: PtxBuilder, x: F32): F32 {
  return k.add(k.max(x, 0), log(k, k.add(exp(k, k.neg(k.abs(x))), 1)));
}

/** `(exp(|x|) - exp(-|x|)) / 2` with the sign of x, accurate near 0. */
export function sinh(k: PtxBuilder, x: F32): F32 {
  const u = expm1(k, k.abs(x));
  // From 2^24 on the second term is below the first one's rounding, and infinity has none.
  const second = k.select(k.compare("lt", u, 2 ** 24), k.div(u, k.add(u, 1)), 0);
  const magnitude = k.mul(k.add(u, second), 0.5);
  return k.select(k.compare("lt", x, 0), k.neg(magnitude), magnitude);
}

export function tanh(k: PtxBuilder, x: F32): F32 {
  const magnitude = k.abs(x);
  const square = k.mul(x, x);
  const small = k.fma(k.mul(polynomial(k, square, tanhCoefficients, "f32"), square), x, x);
  // 1 - 2 / (e^2|x| + 1), with the sign of x.
  const quotient = k.div(k.constant("f32", 2), k.add(exp(k, k.add(magnitude, magnitude)), 1));
  const large = k.sub(k.constant("f32", 1), quotient);
  const signed = k.select(k.compare("lt", x, 0), k.neg(large), large);
  return k.select(k.compare("lt", magnitude, 0.625), small, signed);
}

/** Coefficients of the Taylor series of an alternating sum of `x^(2i+first) / (2i+first)!`, in powers of x², highest first. */
function taylor(first: 0 | 1, terms: number): number[] {
  const coefficients: number[] = [];
  let factorial = 1;
  for (let i = 0; i < terms; i++) {
    const degree = 2 * i + first;
    if (i > 0) factorial *= degree * (degree - 1);
    coefficients.push((i % 2 === 0 ? 1 : -1) / factorial);
  }
  return coefficients.reverse();
}

const halfPiHigh = Math.PI / 2;
// π/2 minus its f64 value.
const halfPiLow = 6.123233995736766e-17;

/** Sine and cosine in f64 for |x| up to about 1e9: reduced by multiples of π/2, then Taylor to degree 15. */
export function sinCos(k: PtxBuilder, x: F64): { readonly sin: F64; readonly cos: F64 } {
  const n = k.round(k.mul(x, 2 / Math.PI));
  const r = k.fma(n, -halfPiLow, k.fma(n, -halfPiHigh, x));
  const square = k.mul(r, r);
  const sin = k.mul(polynomial(k, square, taylor(1, 8), "f64"), r);
  const cos = polynomial(k, square, taylor(0, 9), "f64");
  const quadrant = k.and(k.convert("s32", n), 3);
  const odd = k.compare("ne", k.and(quadrant, 1), 0);
  const sinOfTurn = k.select(odd, cos, sin);
  const cosOfTurn = k.select(odd, sin, cos);
  const sinNegative = k.compare("ge", quadrant, 2);
  const cosNegative = k.compare("ne", k.and(k.add(quadrant, 1), 2), 0);
  return {
    sin: k.select(sinNegative, k.neg(sinOfTurn), sinOfTurn),
    cos: k.select(cosNegative, k.neg(cosOfTurn), cosOfTurn),
  };
}
