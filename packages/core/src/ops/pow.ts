import type { Op } from "../program/op.ts";
import { requireNumber } from "./shared/checks.ts";
import { unary } from "./shared/elementwise.ts";
import { ieeePower } from "./shared/power.ts";

export interface PowParams {
  /** May be infinite. */
  readonly exponent: number;
}

/**
 * `y = x^exponent`, with an exponent known when the program is recorded; `power` takes a tensor of them. IEEE 754's rules.
 * `x [...] -> y [...]`. @throws {DTypeError | ArgumentError}
 */
export const pow: Op<["x"], PowParams> = unary<PowParams>({
  name: "pow",
  defaults: {},
  required: ["exponent"],
  flops: 1,
  check: ({ exponent }) => requireNumber("pow", "exponent", exponent, "a number", () => true),
  f: (x, { exponent }) => ieeePower(x, exponent),
});
