import { ShapeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { formatShape, formatSpec, type Shape, sameShape } from "../spec.ts";
import { requireDims } from "./shared/checks.ts";
import { plainTypes } from "./shared/dtypes.ts";
import { broadcast, elementwiseCost, requireDType } from "./shared/elementwise.ts";

export interface ExpandParams {
  /** Shape of the result. Axes align at the last one; an extent of 1 of `x` may grow, and axes may be added in front. */
  readonly shape: Shape;
}

/**
 * Repeats `x` to a larger shape by the broadcasting rule.
 * `x [...] -> y [...shape]`, any plain dtype.
 * @throws {ShapeError} if x does not broadcast to `shape`
 * @throws {DTypeError} unless x has a plain dtype
 * @throws {ArgumentError} if `shape` is not a list of extents
 */
export const expand: Op<["x"], ExpandParams> = {
  name: "expand",
  inputs: ["x"],
  defaults: {},
  required: ["shape"],
  infer([x], { shape }) {
    requireDType("expand", "x", x, plainTypes);
    requireDims("expand", shape);
    if (x.shape.length > shape.length || !sameShape(broadcast("expand", x.shape, shape), shape))
      throw new ShapeError("expand", `a shape that ${formatShape(x.shape)} broadcasts to`, formatShape(shape), `x is ${formatSpec(x)}`);
    return { dtype: x.dtype, shape };
  },
  cost: (inputs, _params, y) => elementwiseCost(0, inputs, y),
};
