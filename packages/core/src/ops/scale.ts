import type { Op } from "../program/op.ts";
import { requireFinite } from "./shared/checks.ts";
import { unary } from "./shared/elementwise.ts";

/** Parameters of `scale`. */
export interface ScaleParams {
  /** The factor, a finite number. */
  readonly by: number;
}

/** `y = x * by`, with a constant factor. `x [...] -> y [...]`, f32. @throws {DTypeError | ArgumentError} */
export const scale: Op<["x"], ScaleParams> = unary<ScaleParams>({
  name: "scale",
  defaults: {},
  required: ["by"],
  flops: 1,
  check: ({ by }) => requireFinite("scale", "by", by),
  f: (x, { by }) => x * by,
});
