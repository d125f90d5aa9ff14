import { ShapeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { byteLength, elementCount, formatSpec } from "../spec.ts";
import { type ReduceParams, reducedShape } from "./shared/axes.ts";
import { requireBoolean, requireWhole, resolveAxis } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";

export interface VarianceParams extends ReduceParams {
  /** Subtracted from the count that the sum is divided by: 0 for the population's variance, 1 for a sample's. */
  readonly correction: number;
}

/**
 * Variance over an axis, `sum((x - mean(x))^2) / (n - correction)`, in two passes: values of one size with a large mean keep their
 * digits. An axis that a run makes empty, or as short as `correction`, gives NaN.
 * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const variance: Op<["x"], VarianceParams, keyof VarianceParams> = {
  name: "variance",
  inputs: ["x"],
  defaults: { axis: null, keepDims: false, correction: 0 },
  infer([x], { axis, keepDims, correction }) {
    requireDType("variance", "x", x, ["f32"]);
    requireBoolean("variance", "keepDims", keepDims);
    requireWhole("variance", "correction", correction, 0);
    const at = axis === null ? null : resolveAxis("variance", axis, x.shape.length);
    const reduced = at === null ? x.shape : [x.shape[at]!];
    const count = reduced.reduce<number>((product, dim) => product * (typeof dim === "number" ? dim : dim.max), 1);
    if (count <= correction)
      throw new ShapeError("variance", `more than ${correction} elements to reduce`, formatSpec(x), "fewer have no variance");
    return { dtype: "f32", shape: reducedShape(x.shape, at, keepDims) };
  },
  cost: ([x], _params, y) => ({ flops: 4 * elementCount(x.shape), bytes: byteLength(x) + byteLength(y) }),
};
