import { ArgumentError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { requireNumber } from "./shared/checks.ts";
import { unary } from "./shared/elementwise.ts";

/** Bounds of {@link clip}; either may be infinite. */
export interface ClipParams {
  /** Lower bound. */
  readonly min: number;
  /** Upper bound, at least `min`. */
  readonly max: number;
}

/**
 * Limits values to a range: `y = min(max(x, min), max)`. NaN stays NaN.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 * @throws {ArgumentError} if a bound is NaN, or `min` is above `max`
 */
export const clip: Op<["x"], ClipParams> = unary<ClipParams>({
  name: "clip",
  defaults: {},
  required: ["min", "max"],
  flops: 2,
  check({ min, max }) {
    for (const [option, value] of Object.entries({ min, max })) requireNumber("clip", option, value, "a number", () => true);
    if (min > max) throw new ArgumentError("clip", "min to be at most max", `min ${min} and max ${max}`, "swap them");
  },
  f: (x, { min, max }) => Math.min(Math.max(x, min), max),
});
