import type { Op } from "../program/op.ts";
import { requireNumber } from "./shared/checks.ts";
import { unary } from "./shared/elementwise.ts";
import { ieeePower } from "./shared/power.ts";

export interface PowParams {
  /** Exponent, which may be infinite. */
  readonly exponent: number;
}

/**
 * Power with a constant exponent: `y = x^exponent`, by the rules of IEEE 754. `power` takes a tensor of exponents.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 * @throws {ArgumentError} if `exponent` is NaN
 */
export const pow: Op<["x"], PowParams> = unary<PowParams>({
  name: "pow",
  defaults: {},
  required: ["exponent"],
  flops: 1,
  check: ({ exponent }) => requireNumber("pow", "exponent", exponent, "a number", () => true),
  f: (x, { exponent }) => ieeePower(x, exponent),
});
