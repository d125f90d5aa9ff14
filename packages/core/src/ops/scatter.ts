import { DTypeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { elementCount } from "../spec.ts";
import { requireAxes, requireOneOf, requireShape, resolveAxis } from "./shared/checks.ts";
import { plainTypes } from "./shared/dtypes.ts";
import { elementwiseCost, requireDType } from "./shared/elementwise.ts";

export interface ScatterParams {
  /** Axis to write along. A negative axis counts from the end. */
  readonly axis: number;
  /** "replace" keeps the last update of equal indices. "add" adds every update to the element of `x` (f32, or wrapping i32). */
  readonly mode: "replace" | "add";
}

/**
 * Copies `x` and writes slices along an axis, the inverse of `gather`: `y[..., indices[i], ...] = updates[..., i, ...]`, or `+=`.
 * `x [p..., n, q...], indices [m] i32, updates [p..., m, q...] -> y [p..., n, q...]`, any plain dtype; mode "add" takes f32 or i32.
 *
 * An index outside `[0, n)` is an error on the scalar reference.
 * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
 * @throws {ArgumentError} for an unknown mode or axis, and for an index out of range when the reference runs
 */
export const scatter: Op<["x", "indices", "updates"], ScatterParams, keyof ScatterParams> = {
  name: "scatter",
  inputs: ["x", "indices", "updates"],
  defaults: { axis: 0, mode: "replace" },
  infer([x, indices, updates], { axis, mode }) {
    requireOneOf("scatter", "mode", mode, ["replace", "add"]);
    requireDType("scatter", "x", x, mode === "add" ? ["f32", "i32"] : plainTypes);
    requireDType("scatter", "indices", indices, ["i32"]);
    if (updates.dtype !== x.dtype) throw new DTypeError("scatter", `updates in ${x.dtype} as x`, updates.dtype, "cast the updates");
    const [count] = requireAxes("scatter", "indices", indices, ["m"]);
    requireShape("scatter", "updates", updates, x.shape.with(resolveAxis("scatter", axis, x.shape.length), count));
    return x;
  },
  cost: (inputs, { mode }, y) => ({ ...elementwiseCost(0, inputs, y), flops: mode === "add" ? elementCount(inputs[2].shape) : 0 }),
};
