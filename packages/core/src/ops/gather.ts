import type { Op } from "../program/op.ts";
import { byteLength } from "../spec.ts";
import { resolveAxis } from "./shared/checks.ts";
import { plainTypes } from "./shared/dtypes.ts";
import { requireDType } from "./shared/elementwise.ts";

export interface GatherParams {
  /** Axis to pick along. A negative axis counts from the end. */
  readonly axis: number;
}

/**
 * Picks slices along an axis by index, like numpy's `take`: `y[..., i..., ...] = x[..., indices[i...], ...]`.
 * `x [p..., n, q...], indices [i...] i32 -> y [p..., i..., q...]`, any plain dtype. To pick rows of a quantised table use `embedding`.
 *
 * An index outside `[0, n)` is an error on the scalar reference.
 * @throws {DTypeError} unless x has a plain dtype and `indices` is i32
 * @throws {ShapeError} if x is a scalar
 * @throws {ArgumentError} if x has no such axis, and for an index out of range when the reference runs
 */
export const gather: Op<["x", "indices"], GatherParams, "axis"> = {
  name: "gather",
  inputs: ["x", "indices"],
  defaults: { axis: 0 },
  infer([x, indices], { axis }) {
    requireDType("gather", "x", x, plainTypes);
    requireDType("gather", "indices", indices, ["i32"]);
    return { dtype: x.dtype, shape: x.shape.toSpliced(resolveAxis("gather", axis, x.shape.length), 1, ...indices.shape) };
  },
  cost: ([, indices], _params, y) => ({ flops: 0, bytes: byteLength(indices) + 2 * byteLength(y) }),
};
