import { describe, elementAt } from "@centella/quant/checks";
import { ArgumentError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { formatShape } from "../spec.ts";
import { plainTypes } from "./shared/dtypes.ts";
import { elementwiseCost, requireDType } from "./shared/elementwise.ts";

export interface TransposeParams {
  /** Axis i of the result is axis `axes[i]` of the input. A negative axis counts from the end; null reverses all axes. */
  readonly axes: readonly number[] | null;
}

/**
 * Permutes the axes; by default it reverses them, which transposes a matrix.
 * `x [...] -> y [...]`, any plain dtype.
 * @throws {DTypeError} unless x has a plain dtype
 * @throws {ArgumentError} unless `axes` names each axis once
 */
export const transpose: Op<["x"], TransposeParams, "axes"> = {
  name: "transpose",
  inputs: ["x"],
  defaults: { axes: null },
  infer([x], { axes }) {
    requireDType("transpose", "x", x, plainTypes);
    return { dtype: x.dtype, shape: orderOf(axes, x.shape.length).map((axis) => elementAt(x.shape, axis)) };
  },
  cost: (inputs, _params, y) => elementwiseCost(0, inputs, y),
};

export function orderOf(axes: readonly number[] | null, rank: number): readonly number[] {
  const all = Array.from({ length: rank }, (_, axis) => axis);
  if (axes === null) return all.reverse();
  const order = Array.isArray(axes) && axes.every(Number.isInteger) ? axes.map((axis) => (axis < 0 ? axis + rank : axis)) : [];
  if (order.length !== rank || !all.every((axis) => order.includes(axis))) {
    throw new ArgumentError("transpose", `axes to be an order of ${formatShape(all)}`, describe(axes), "name each axis once");
  }
  return order;
}
