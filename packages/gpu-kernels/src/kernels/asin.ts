import type { Emitter, F32 } from "../emitter.ts";
import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { polynomial, withSignOf } from "../shared/math.ts";

const coefficients = [4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2, 1.6666752422e-1];

/** For |x| up to 1/2 (Cephes' asinf, by S. Moshier). */
export function asinSmall(k: Emitter, x: F32): F32 {
  const z = k.mul(x, x);
  return k.fma(k.mul(polynomial(k, z, coefficients), z), x, x);
}

/** Arc sine of |x| from 1/2 on, computed from that of `sqrt((1 - |x|) / 2)`, which is NaN beyond 1. */
export function asinOfHalf(k: Emitter, magnitude: F32): F32 {
  return asinSmall(k, k.sqrt(k.mul(k.sub(k.constant("f32", 1), magnitude), 0.5)));
}

export const asin: GpuKernelOf<"asin"> = unary((k, x) => {
  const magnitude = k.abs(x);
  const large = k.sub(k.constant("f32", Math.PI / 2), k.mul(asinOfHalf(k, magnitude), 2));
  const isLarge = k.compare("gt", magnitude, 0.5);
  return k.select(isLarge, withSignOf(k, large, x), asinSmall(k, x));
});
