import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { polynomial, withSignOf } from "../shared/math.ts";

const coefficients = [8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1];

/** Reduced to |x| up to tan(π/8) (Cephes' atanf, by S. Moshier). */
export const atan: GpuKernelOf<"atan"> = unary((k, x) => {
  // Beyond it the result is π/2, and nothing overflows.
  const magnitude = k.min(k.abs(x), 1e30);
  const one = k.constant("f32", 1);
  const isLarge = k.compare("gt", magnitude, 2.414213562373095);
  const isMiddle = k.both(k.compare("gt", magnitude, 0.414213562373095), k.not(isLarge));
  const start = k.select(isLarge, k.constant("f32", Math.PI / 2), k.select(isMiddle, k.constant("f32", Math.PI / 4), 0));
  const numerator = k.select(isLarge, k.constant("f32", -1), k.select(isMiddle, k.sub(magnitude, 1), magnitude));
  const denominator = k.select(isLarge, magnitude, k.select(isMiddle, k.add(magnitude, 1), one));
  const r = k.div(numerator, denominator);
  const z = k.mul(r, r);
  const rest = k.fma(k.mul(polynomial(k, z, coefficients), z), r, r);
  return withSignOf(k, k.add(start, rest), x);
});
