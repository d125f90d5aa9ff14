import type { Op } from "../program/op.ts";
import { requireFinite } from "./shared/checks.ts";
import { unary } from "./shared/elementwise.ts";

export interface EluParams {
  /** What negative values saturate to, negated. */
  readonly alpha: number;
}

/** `y = x` from 0, `alpha * (exp(x) - 1)` below; NaN stays NaN. `x [...] -> y [...]`. @throws {DTypeError | ArgumentError} */
export const elu: Op<["x"], EluParams, "alpha"> = unary<EluParams, "alpha">({
  name: "elu",
  defaults: { alpha: 1 },
  flops: 3,
  check: ({ alpha }) => requireFinite("elu", "alpha", alpha),
  f: (x, { alpha }) => (x < 0 ? alpha * Math.expm1(x) : x),
});
