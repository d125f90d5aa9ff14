import { type FunctionBuilder, f32x4, i32x4, type Local, type V128 } from "../emit/index.ts";
import { horner, madd, type Target } from "../target.ts";

/** Adding 1.5 · 2^23 rounds to an integer, which is then in the low bits. */
const roundingShift = 12582912;
const roundingShiftBits = 0x4b400000;

interface Reduced {
  /** n in its low bits. */
  readonly shifted: Local<"v128">;
  readonly q: Local<"v128">;
}

/** `x = n ln 2 + r`, |r| ≤ ln 2 / 2; `q = e^r - 1`. The split of ln 2 is that of Cephes' `expf`; the polynomial is minimax, 0.05 ulp from e^r. */
function reduce(f: FunctionBuilder, target: Target, x: V128): Reduced {
  const shifted = f.let(madd(target, x, f.splat(Math.LOG2E), f.splat(roundingShift)));
  const whole = f.let(f32x4.sub(shifted, f.splat(roundingShift)));
  const r = f.let(madd(target, whole, f.splat(2.1219444e-4), madd(target, whole, f.splat(-0.693359375), x)));
  const p = horner(
    target,
    r,
    [1.3814433e-3, 8.3687967e-3, 4.1668396e-2, 1.666651964e-1, 4.999999404e-1].map((c) => f.splat(c)),
  );
  return { shifted, q: f.let(madd(target, f32x4.mul(r, r), p, r)) };
}

function whole(f: FunctionBuilder, { shifted }: Reduced): Local<"v128"> {
  return f.let(i32x4.sub(shifted, f.splatBits(roundingShiftBits)));
}

/** 2^n for n from -126 to 127. */
function power(f: FunctionBuilder, n: V128): V128 {
  return i32x4.shl(i32x4.add(n, f.splatBits(127)), 23);
}

/** `e^x`, within 2 ulp where the result is normal; 0 below -104, infinity above 88.73, NaN for NaN. */
export function exp(f: FunctionBuilder, target: Target, x: V128): Local<"v128"> {
  const reduced = reduce(f, target, f.let(f32x4.pmin(f32x4.pmax(x, f.splat(-104)), f.splat(89))));
  return scaled(f, reduced.q, whole(f, reduced));
}

/**
 * `e^x` in fewer instructions, for what only adds it to something: within 2 ulp from -87.3 to 88.3, 0 below -87.7, infinity above 88.4,
 * NaN for NaN.
 */
export function expFlushed(f: FunctionBuilder, target: Target, x: V128): Local<"v128"> {
  const { shifted, q } = reduce(f, target, f.let(f32x4.pmin(f32x4.pmax(x, f.splat(-88)), f.splat(89))));
  // n from -127, whose power has the bits of 0, to 128, whose power has those of infinity; what is above n in `shifted` is shifted out.
  const power = i32x4.add(i32x4.shl(shifted, 23), f.splat(1));
  return f.let(f32x4.mul(f32x4.add(q, f.splat(1)), power));
}

/** `e^x / 2`, which is finite up to x = 89.4, for x from 0. */
export function halfExp(f: FunctionBuilder, target: Target, x: V128): Local<"v128"> {
  const reduced = reduce(f, target, f.let(f32x4.pmin(x, f.splat(90))));
  return scaled(f, reduced.q, f.let(i32x4.sub(whole(f, reduced), f.splatBits(1))));
}

/** `(q + 1) 2^n` by two factors, because 2^n alone leaves the range of normal numbers before the product does. */
function scaled(f: FunctionBuilder, q: V128, n: Local<"v128">): Local<"v128"> {
  const half = f.let(i32x4.shrS(n, 1));
  const part = f32x4.mul(f32x4.add(q, f.splat(1)), power(f, half));
  return f.let(f32x4.mul(part, power(f, i32x4.sub(n, half))));
}

/** `e^x - 1` for x ≤ 0, within 2 ulp; NaN for NaN. */
export function expm1Negative(f: FunctionBuilder, target: Target, x: V128): Local<"v128"> {
  const reduced = reduce(f, target, f.let(f32x4.pmax(x, f.splat(-25))));
  const scale = f.let(power(f, whole(f, reduced)));
  return f.let(madd(target, reduced.q, scale, f32x4.sub(scale, f.splat(1))));
}
