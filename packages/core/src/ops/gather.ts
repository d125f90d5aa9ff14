import type { Op } from "../program/op.ts";
import { byteLength } from "../spec.ts";
import { resolveAxis } from "./shared/checks.ts";
import { plainTypes } from "./shared/dtypes.ts";
import { requireDType } from "./shared/elementwise.ts";

export interface GatherParams {
  /** The axis. A negative axis counts from the end. */
  readonly axis: number;
}

/**
 * Picks along an axis: `y[..., i..., ...] = x[..., indices[i...], ...]` (numpy's `take`). `x [p..., n, q...], indices [i...] i32 ->
 * y [p..., i..., q...]`, any plain dtype; `embedding` picks rows of quantised tables.
 *
 * An index outside `[0, n)` is an error on the scalar reference.
 * @throws {ShapeError | DTypeError | ArgumentError}
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
