import type { VariadicOp } from "../program/op.ts";
import { requireShape, resolveAxis } from "./shared/checks.ts";
import { plainTypes } from "./shared/dtypes.ts";
import { elementwiseCost, requireDType, requireOneDType } from "./shared/elementwise.ts";

export interface StackParams {
  /** Index of the new axis in the result. A negative axis counts from the end. */
  readonly axis: number;
}

/**
 * Joins n tensors along a new axis.
 * `tensors[i] [...] -> y [..., n, ...]`, of one shape and one plain dtype.
 * @throws {ShapeError} if the shapes differ
 * @throws {DTypeError} unless all tensors have one plain dtype
 * @throws {ArgumentError} if the result has no such axis
 */
export const stack: VariadicOp<"tensors", StackParams, "axis"> = {
  name: "stack",
  inputs: ["tensors"],
  variadic: true,
  defaults: { axis: 0 },
  infer(tensors, { axis }) {
    const { dtype, shape } = tensors[0];
    requireDType("stack", "tensors[0]", tensors[0], plainTypes);
    requireOneDType("stack", tensors);
    for (const [i, tensor] of tensors.entries()) requireShape("stack", `tensors[${i}]`, tensor, shape);
    return { dtype, shape: shape.toSpliced(resolveAxis("stack", axis, shape.length + 1), 0, tensors.length) };
  },
  cost: (inputs, _params, y) => elementwiseCost(0, inputs, y),
};
