import { elementAt } from "@centella/quant/checks";
import { ShapeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { byteLength, formatSpec, sameDim } from "../spec.ts";
import { resolveAxis } from "./shared/checks.ts";
import { plainTypes } from "./shared/dtypes.ts";
import { requireDType } from "./shared/elementwise.ts";

export interface TakeAlongAxisParams {
  /** Axis to pick along. A negative axis counts from the end. */
  readonly axis: number;
}

/**
 * Picks along an axis by each line's own indices, like numpy's `take_along_axis`: `y[o, i, k] = x[o, indices[o, i, k], k]`. Takes the
 * indices that `argsort` and `topKIndices` return; `gather` picks whole slices.
 * `x [p..., n, q...], indices [p..., m, q...] i32 -> y [p..., m, q...]`, any plain dtype.
 *
 * An index outside `[0, n)` is an error on the scalar reference.
 * @throws {DTypeError} unless x has a plain dtype and `indices` is i32
 * @throws {ShapeError} if x is a scalar, or the shapes differ in another axis
 * @throws {ArgumentError} if x has no such axis, and for an index out of range when the reference runs
 */
export const takeAlongAxis: Op<["x", "indices"], TakeAlongAxisParams, "axis"> = {
  name: "takeAlongAxis",
  inputs: ["x", "indices"],
  defaults: { axis: -1 },
  infer([x, indices], { axis: given }) {
    requireDType("takeAlongAxis", "x", x, plainTypes);
    requireDType("takeAlongAxis", "indices", indices, ["i32"]);
    const axis = resolveAxis("takeAlongAxis", given, x.shape.length);
    const { shape } = indices;
    if (shape.length !== x.shape.length || !shape.every((dim, i) => i === axis || sameDim(dim, elementAt(x.shape, i)))) {
      const expected = `indices with the extents of x except on axis ${axis}`;
      throw new ShapeError("takeAlongAxis", expected, `${formatSpec(indices)} for ${formatSpec(x)}`, "expand them");
    }
    return { dtype: x.dtype, shape };
  },
  cost: ([, indices], _params, y) => ({ flops: 0, bytes: byteLength(indices) + 2 * byteLength(y) }),
};
