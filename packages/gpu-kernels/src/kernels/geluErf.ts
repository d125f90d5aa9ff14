import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { inverse, isNegative, polynomial } from "../shared/math.ts";

/**
 * `1 - erf(z) = t (a1 + t (a2 + ...)) e^(-z^2)` with `t = 1 / (1 + 0.3275911 z)`, absolute error 1.5e-7 (Abramowitz and Stegun,
 * 7.1.26). Used unchanged for negative x, so that nothing cancels there.
 */
const coefficients = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592];

export const geluErf: GpuKernelOf<"geluErf"> = unary((k, x) => {
  // Bounded far beyond where the tail is 0, so that no compiler sees an infinite square.
  const z = k.min(k.mul(k.abs(x), Math.SQRT1_2), 1e15);
  const t = inverse(k, k.fma(z, 0.3275911, 1));
  const tail = k.mul(k.mul(polynomial(k, t, coefficients), t), k.exp(k.neg(k.mul(z, z))));
  const part = k.mul(k.mul(k.min(x, 16), 0.5), tail);
  return k.select(isNegative(k, x), part, k.sub(x, part));
});
