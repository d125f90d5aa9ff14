import type { Op } from "../program/op.ts";
import { requireNumber } from "./shared/checks.ts";
import { unary } from "./shared/elementwise.ts";
import { ieeePower } from "./shared/power.ts";

export interface PowParams {
  /** The exponent. It may be infinite. */
  readonly exponent: number;
}

/**
 * `y = x^exponent`, with a constant exponent; `power` takes a tensor of exponents. IEEE 754's rules.
 * `x [...] -> y [...]`, f32. @throws {DTypeError | ArgumentError}
 */
export const pow: Op<["x"], PowParams> = unary<PowParams>({
  name: "pow",
  defaults: {},
  required: ["exponent"],
  flops: 1,
  check: ({ exponent }) => requireNumber("pow", "exponent", exponent, "a number", () => true),
  f: (x, { exponent }) => ieeePower(x, exponent),
});
