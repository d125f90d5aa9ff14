import type { Op } from "../program/op.ts";
import { requireFinite } from "./shared/checks.ts";
import { unary } from "./shared/elementwise.ts";

/** Parameters of `scale`. */
export interface ScaleParams {
  /** Factor, a finite number. */
  readonly by: number;
}

/**
 * Multiplies by a constant: `y = x * by`.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 * @throws {ArgumentError} if `by` is not finite
 */
export const scale: Op<["x"], ScaleParams> = unary<ScaleParams>({
  name: "scale",
  defaults: {},
  required: ["by"],
  flops: 1,
  check: ({ by }) => requireFinite("scale", "by", by),
  f: (x, { by }) => x * by,
});
