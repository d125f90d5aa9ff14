import { type FunctionBuilder, f32x4, i32x4, type Local, type V128, v128 } from "../emit/index.ts";
import { horner, madd, type Target } from "../target.ts";

/** Natural logarithm within 2 ulp (Cephes' `logf`), including subnormals; -Infinity for 0, NaN below 0. */
export function log(f: FunctionBuilder, target: Target, argument: V128): Local<"v128"> {
  const x = f.let(argument);
  const subnormal = f.let(f32x4.lt(x, f.splat(2 ** -126)));
  const normal = f.let(v128.bitselect(subnormal, f32x4.mul(x, f.splat(2 ** 23)), x));
  // Subtracting the bits of sqrt(1/2) puts the mantissa between sqrt(1/2) and sqrt(2).
  const exponent = f.let(i32x4.shrS(i32x4.sub(normal, f.splatBits(0x3f3504f3)), 23));
  const mantissa = i32x4.sub(normal, i32x4.shl(exponent, 23));
  const m = f.let(f32x4.sub(mantissa, f.splat(1)));
  const e = f.let(f32x4.add(f32x4.fromI32x4(exponent), v128.and(subnormal, f.splat(-23))));
  const p = horner(
    f,
    target,
    m,
    [
      7.0376836292e-2, -1.151461031e-1, 1.167699874e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1,
      -2.4999993993e-1, 3.3333331174e-1,
    ],
  );
  const z = f.let(f32x4.mul(m, m));
  const low = madd(target, e, f.splat(-2.1219444e-4), f32x4.mul(f32x4.mul(p, m), z));
  const sum = f32x4.add(m, madd(target, z, f.splat(-0.5), low));
  const result = f.let(madd(target, e, f.splat(0.693359375), sum));
  f.set(result, v128.bitselect(f32x4.eq(x, v128.zero()), f.splat(Number.NEGATIVE_INFINITY), result));
  f.set(result, v128.bitselect(f32x4.lt(x, v128.zero()), f.splat(Number.NaN), result));
  f.set(result, v128.bitselect(f32x4.lt(x, f.splat(Number.POSITIVE_INFINITY)), result, x));
  return result;
}
