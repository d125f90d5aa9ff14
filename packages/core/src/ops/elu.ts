import type { Op } from "../program/op.ts";
import { requireFinite } from "./shared/checks.ts";
import { unary } from "./shared/elementwise.ts";

export interface EluParams {
  /** Large negative values approach `-alpha`. */
  readonly alpha: number;
}

/**
 * `y = x` from 0, `alpha * (exp(x) - 1)` below (Clevert et al., 2015); NaN stays NaN. `x [...] -> y [...]`, f32.
 * @throws {DTypeError | ArgumentError}
 */
export const elu: Op<["x"], EluParams, "alpha"> = unary<EluParams, "alpha">({
  name: "elu",
  defaults: { alpha: 1 },
  flops: 3,
  check: ({ alpha }) => requireFinite("elu", "alpha", alpha),
  f: (x, { alpha }) => (x < 0 ? alpha * Math.expm1(x) : x),
});
