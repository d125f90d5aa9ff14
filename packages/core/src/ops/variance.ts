import { elementAt } from "@centella/quant/checks";
import { ShapeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { byteLength, elementCount, formatSpec } from "../spec.ts";
import { type ReduceParams, reducedShape } from "./shared/axes.ts";
import { requireBoolean, requireWhole, resolveAxis } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";

export interface VarianceParams extends ReduceParams {
  /** Subtracted from n in the divisor: 0 for the variance of a population, 1 for that of a sample. */
  readonly correction: number;
}

/**
 * Variance along an axis: `sum((x - mean(x))^2) / (n - correction)`. Two passes keep the precision of values that are close to a large
 * mean.
 * A symbolic axis gives NaN in a run where it has at most `correction` elements.
 *
 * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
 * @throws {DTypeError} unless x is f32
 * @throws {ShapeError} if `axis` is given for a scalar, or there are at most `correction` elements to reduce
 * @throws {ArgumentError} if x has no such axis, or `correction` is negative
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
    const reduced = at === null ? x.shape : [elementAt(x.shape, at)];
    const count = reduced.reduce<number>((product, dim) => product * (typeof dim === "number" ? dim : dim.max), 1);
    if (count <= correction)
      throw new ShapeError(
        "variance",
        `more than ${correction} elements to reduce`,
        formatSpec(x),
        "lower correction, or reduce a longer axis",
      );
    return { dtype: "f32", shape: reducedShape(x.shape, at, keepDims) };
  },
  cost: ([x], _params, y) => ({ flops: 4 * elementCount(x.shape), bytes: byteLength(x) + byteLength(y) }),
};
