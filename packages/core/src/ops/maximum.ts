import type { Op } from "../program/op.ts";
import { binary } from "./shared/elementwise.ts";

/**
 * The larger of two elements: `y = max(a, b)`; NaN if either is NaN.
 * `a [...], b [...] -> y [...]` with broadcasting, f32 or i32.
 * @throws {ShapeError} if the shapes do not broadcast
 * @throws {DTypeError} unless both inputs are f32 or both are i32
 */
export const maximum: Op<["a", "b"]> = binary({ name: "maximum", f: Math.max, i32: Math.max });
