import type { Op } from "../program/op.ts";
import { byteLength } from "../spec.ts";
import { requireShape, resolveAxis } from "./shared/checks.ts";
import { plainTypes } from "./shared/dtypes.ts";
import { requireDType } from "./shared/elementwise.ts";

export interface GatherParams {
  /** Axis to pick along. A negative axis counts from the end. */
  readonly axis: number;
}

/**
 * Picks slices along an axis by index, like numpy's `take`: `y[..., i..., ...] = x[..., indices[i...], ...]`.
 * `x [p..., n, q...], indices [i...] i32, fallback [p..., i..., q...]? -> y [p..., i..., q...]`, any plain dtype. To pick rows of a
 * quantised table use `embedding`.
 *
 * An index outside `[0, n)` picks the slice of `fallback`. Without one, it is an error on the scalar reference.
 * @throws {DTypeError} unless x has a plain dtype, which the fallback shares, and `indices` is i32
 * @throws {ShapeError} if x is a scalar, or the fallback has another shape than the result
 * @throws {ArgumentError} if x has no such axis, and for an index out of range when the reference runs without a fallback
 */
export const gather: Op<["x", "indices"], GatherParams, "axis", ["fallback"]> = {
  name: "gather",
  inputs: ["x", "indices"],
  optionalInputs: ["fallback"],
  defaults: { axis: 0 },
  infer([x, indices, fallback], { axis }) {
    requireDType("gather", "x", x, plainTypes);
    requireDType("gather", "indices", indices, ["i32"]);
    const shape = x.shape.toSpliced(resolveAxis("gather", axis, x.shape.length), 1, ...indices.shape);
    if (fallback !== undefined) {
      requireDType("gather", "fallback", fallback, [x.dtype]);
      requireShape("gather", "fallback", fallback, shape);
    }
    return { dtype: x.dtype, shape };
  },
  cost: ([, indices, fallback], _params, y) => ({
    flops: 0,
    bytes: byteLength(indices) + 2 * byteLength(y) + (fallback === undefined ? 0 : byteLength(fallback)),
  }),
};
