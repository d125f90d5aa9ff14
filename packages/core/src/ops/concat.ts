import { elementAt } from "@centella/quant/checks";
import { ShapeError } from "../errors.ts";
import type { VariadicOp } from "../program/op.ts";
import { formatSpec, sameDim } from "../spec.ts";
import { requireExtent, resolveAxis } from "./shared/checks.ts";
import { plainTypes } from "./shared/dtypes.ts";
import { elementwiseCost, requireDType, requireOneDType } from "./shared/elementwise.ts";

export interface ConcatParams {
  /** Axis to join along. A negative axis counts from the end. */
  readonly axis: number;
}

/**
 * Joins one or more tensors along an axis.
 * `tensors[i] [..., n_i, ...] -> y [..., n_0 + n_1 + ..., ...]`, of one plain dtype. All other extents must be equal.
 * @throws {ShapeError} if other extents differ, the joined axis is symbolic, or the tensors are scalars
 * @throws {DTypeError} unless all tensors have one plain dtype
 * @throws {ArgumentError} if the tensors have no such axis
 */
export const concat: VariadicOp<"tensors", ConcatParams> = {
  name: "concat",
  inputs: ["tensors"],
  variadic: true,
  defaults: {},
  required: ["axis"],
  infer(tensors, { axis: given }) {
    const first = tensors[0];
    requireDType("concat", "tensors[0]", first, plainTypes);
    requireOneDType("concat", tensors);
    const axis = resolveAxis("concat", given, first.shape.length);
    let extent = 0;
    for (const [i, tensor] of tensors.entries()) {
      const { shape } = tensor;
      if (shape.length !== first.shape.length || !shape.every((dim, at) => at === axis || sameDim(dim, elementAt(first.shape, at))))
        throw new ShapeError(
          "concat",
          `shapes that differ only along axis ${axis}`,
          `${formatSpec(first)} and ${formatSpec(tensor)}`,
          "reshape, slice or pad one of them",
        );
      extent += requireExtent("concat", `axis ${axis} of tensors[${i}]`, elementAt(shape, axis));
    }
    return { dtype: first.dtype, shape: first.shape.map((dim, at) => (at === axis ? extent : dim)) };
  },
  cost: (inputs, _params, y) => elementwiseCost(0, inputs, y),
};
