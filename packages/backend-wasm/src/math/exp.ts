import { type FunctionBuilder, f32x4, i32x4, type Local, type V128, v128 } from "../emit/index.ts";
import { horner, madd, type Target } from "../target.ts";

/** Adding 1.5 · 2^23 rounds to an integer in the low bits. With 127 more they are the exponent of its power of two. */
const roundingShift = 12582912 + 127;

interface Reduced {
  /** Has n + 127 in its low bits. */
  readonly shifted: Local<"v128">;
  readonly r: Local<"v128">;
}

/** `x = n ln 2 + r`, |r| ≤ ln 2 / 2. ln 2 is split as in Cephes' `expf`. */
function reduce(f: FunctionBuilder, target: Target, x: V128): Reduced {
  const shifted = f.let(madd(target, x, f.splat(Math.LOG2E), f.splat(roundingShift)));
  const whole = f.let(f32x4.sub(shifted, f.splat(roundingShift)));
  return { shifted, r: f.let(madd(target, whole, f.splat(2.1219444e-4), madd(target, whole, f.splat(-0.693359375), x))) };
}

/** Coefficients of r^6 to r^2: minimax, within 0.05 ulp of e^r. */
const coefficients = [1.3814433e-3, 8.3687967e-3, 4.1668396e-2, 1.666651964e-1, 4.999999404e-1] as const;

/** `e^r`. */
function power(f: FunctionBuilder, target: Target, { r }: Reduced): Local<"v128"> {
  return f.let(horner(f, target, r, [...coefficients, 1, 1]));
}

function whole(f: FunctionBuilder, { shifted }: Reduced): Local<"v128"> {
  return f.let(i32x4.sub(shifted, f.splat(roundingShift)));
}

/** 2^n for n from -126 to 127. */
function powerOfTwo(f: FunctionBuilder, n: V128): V128 {
  return i32x4.shl(i32x4.add(n, f.splatBits(127)), 23);
}

/** `e^x`, within 2 ulp where the result is normal; 0 below -104, infinity above 88.73, NaN for NaN. */
export function exp(f: FunctionBuilder, target: Target, x: V128): Local<"v128"> {
  const reduced = reduce(f, target, f.let(f32x4.pmin(f32x4.pmax(x, f.splat(-104)), f.splat(89))));
  return scaled(f, power(f, target, reduced), whole(f, reduced));
}

/** The factors of {@link expFlushed}. */
function flushed(f: FunctionBuilder, target: Target, x: V128, most: number): readonly [V128, V128] {
  const low = f32x4.pmax(x, f.splat(-88));
  const reduced = reduce(f, target, f.let(most > 0 ? f32x4.pmin(low, f.splat(most)) : low));
  // n + 127 ranges from 0, which gives the bits of 0, to 255, which gives those of infinity. The bits above it in
  // `shifted` are shifted out.
  return [power(f, target, reduced), i32x4.shl(reduced.shifted, 23)];
}

/**
 * `e^x` in fewer instructions, for sums: within 2 ulp from -87.3 to 88.3, 0 below -87.7, infinity above 88.4, NaN for
 * NaN. For x ≤ 0, `most` may be 0, which saves one more.
 */
export function expFlushed(f: FunctionBuilder, target: Target, x: V128, most: 0 | 89 = 89): Local<"v128"> {
  return f.let(f32x4.mul(...flushed(f, target, x, most)));
}

/**
 * `e^x` times a power of two for x ≤ 0, equally accurate; 0 below -60, NaN for NaN. `exponent` has the exponent of the
 * power of two, at the exponent's bits of an f32. Multiplications are the bottleneck, so the bounds are found by integer
 * instructions.
 */
export function expCut(f: FunctionBuilder, target: Target, x: Local<"v128">, exponent: V128): Local<"v128"> {
  const reduced = reduce(f, target, x);
  // Positive f32 compare like their bits, and what is computed for lower ones is negative.
  const isLow = i32x4.gtS(f.splat(roundingShift - 86), reduced.shifted);
  const scale = f.let(i32x4.add(i32x4.shl(reduced.shifted, 23), exponent));
  return f.let(v128.andnot(f32x4.mul(power(f, target, reduced), scale), isLow));
}

/** `1 + e^x`, equally accurate. */
export function onePlusExp(f: FunctionBuilder, target: Target, x: V128): Local<"v128"> {
  return f.let(madd(target, ...flushed(f, target, x, 89), f.splat(1)));
}

/** `e^x / 2` for x ≥ 0, finite up to x = 89.4. */
export function halfExp(f: FunctionBuilder, target: Target, x: V128): Local<"v128"> {
  const reduced = reduce(f, target, f.let(f32x4.pmin(x, f.splat(90))));
  return scaled(f, power(f, target, reduced), f.let(i32x4.sub(whole(f, reduced), f.splatBits(1))));
}

/** `p 2^n` as two factors, because 2^n alone leaves the normal range before the product does. */
function scaled(f: FunctionBuilder, p: V128, n: Local<"v128">): Local<"v128"> {
  const half = f.let(i32x4.shrS(n, 1));
  return f.let(f32x4.mul(f32x4.mul(p, powerOfTwo(f, half)), powerOfTwo(f, i32x4.sub(n, half))));
}

/** `e^x - 1` for x ≤ 0, within 2 ulp; NaN for NaN. */
export function expm1Negative(f: FunctionBuilder, target: Target, x: V128): Local<"v128"> {
  const reduced = reduce(f, target, f.let(f32x4.pmax(x, f.splat(-25))));
  const { r } = reduced;
  const p = horner(f, target, r, coefficients);
  const q = f.let(madd(target, f32x4.mul(r, r), p, r));
  const scale = f.let(powerOfTwo(f, whole(f, reduced)));
  return f.let(madd(target, q, scale, f32x4.sub(scale, f.splat(1))));
}
