import type { Op } from "../program/op.ts";
import { requireFinite } from "./shared/checks.ts";
import { unary } from "./shared/elementwise.ts";

export interface EluParams {
  /** Scale of negative values: large negative inputs approach `-alpha`. */
  readonly alpha: number;
}

/**
 * Exponential linear unit (Clevert et al., 2015): `y = x` for `x >= 0`, else `alpha * (exp(x) - 1)`. NaN stays NaN.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 * @throws {ArgumentError} if `alpha` is not finite
 */
export const elu: Op<["x"], EluParams, "alpha"> = unary<EluParams, "alpha">({
  name: "elu",
  defaults: { alpha: 1 },
  flops: 3,
  check: ({ alpha }) => requireFinite("elu", "alpha", alpha),
  f: (x, { alpha }) => (x < 0 ? alpha * Math.expm1(x) : x),
});
