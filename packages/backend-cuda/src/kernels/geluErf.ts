import { exp } from "../ptx/math.ts";
import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

/**
 * `1 - erf(z) = t (a1 + t (a2 + ...)) e^(-z^2)` with `t = 1 / (1 + 0.3275911 z)`, absolute error 1.5e-7 (Abramowitz and Stegun,
 * 7.1.26). Used as it is for negative x, so that nothing cancels there.
 */
const coefficients = [-1.453152027, 1.421413741, -0.284496736, 0.254829592];

export const geluErf: Kernel = unary("geluErf", (k, x) => {
  const z = k.mul(k.abs(x), Math.SQRT1_2);
  const t = k.div(k.constant("f32", 1), k.fma(z, 0.3275911, k.constant("f32", 1)));
  let polynomial = k.constant("f32", 1.061405429);
  for (const coefficient of coefficients) polynomial = k.fma(polynomial, t, coefficient);
  const tail = k.mul(k.mul(polynomial, t), exp(k, k.neg(k.mul(z, z))));
  // From 16 on the tail is 0, and infinity times 0 would be NaN.
  const part = k.mul(k.mul(k.min(x, 16), 0.5), tail);
  return k.select(k.compare("lt", x, 0), part, k.sub(x, part));
});
