import type { Op } from "../program/op.ts";
import { requireFinite } from "./shared/checks.ts";
import { unary } from "./shared/elementwise.ts";

export interface LeakyReluParams {
  /** Factor of negative inputs. */
  readonly slope: number;
}

/**
 * Leaky rectified linear unit: `y = x` for `x >= 0`, else `slope * x`. NaN stays NaN.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 * @throws {ArgumentError} if `slope` is not finite
 */
export const leakyRelu: Op<["x"], LeakyReluParams, "slope"> = unary<LeakyReluParams, "slope">({
  name: "leakyRelu",
  defaults: { slope: 0.01 },
  flops: 2,
  check: ({ slope }) => requireFinite("leakyRelu", "slope", slope),
  f: (x, { slope }) => (x < 0 ? slope * x : x),
});
