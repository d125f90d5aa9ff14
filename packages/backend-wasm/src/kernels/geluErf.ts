import { f32x4, v128 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { exp } from "../math/exp.ts";
import { horner } from "../target.ts";
import { unary } from "./shared/unary.ts";

/**
 * `1 - erf(z) = t (a1 + t (a2 + ...)) e^(-z^2)` with `t = 1 / (1 + 0.3275911 z)`, absolute error 1.5e-7 (Abramowitz and Stegun,
 * 7.1.26). Used as it is for negative x, so that nothing cancels there.
 */
const coefficients = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592];

export const geluErf: Kernel = unary("geluErf", [], (f, target, x) => {
  const z = f.let(f32x4.mul(f32x4.abs(x), f.splat(Math.SQRT1_2)));
  const t = f.let(f32x4.div(f.splat(1), f32x4.add(f.splat(1), f32x4.mul(z, f.splat(0.3275911)))));
  const polynomial = horner(
    target,
    t,
    coefficients.map((c) => f.splat(c / 2)),
  );
  const tail = f32x4.mul(f32x4.mul(polynomial, t), exp(f, target, f32x4.neg(f32x4.mul(z, z))));
  // From 16 on the tail is 0, and infinity times 0 would be NaN.
  const part = f.let(f32x4.mul(f32x4.min(x, f.splat(16)), tail));
  return v128.bitselect(f32x4.lt(x, v128.zero()), part, f32x4.sub(x, part));
});
