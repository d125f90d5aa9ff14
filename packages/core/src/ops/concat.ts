import { DTypeError, ShapeError } from "../errors.ts";
import type { Op } from "../op.ts";
import { formatSpec, sameDim } from "../spec.ts";
import { requireExtent, resolveAxis } from "./shared/checks.ts";
import { plainTypes } from "./shared/dtypes.ts";
import { elementwiseCost, requireDType } from "./shared/elementwise.ts";
import { copyBlock, rowMajor } from "./shared/strided.ts";

export interface ConcatParams {
  /** Negative ones count from the end. */
  readonly axis: number;
}

/**
 * `b` after `a` along an axis. `a [..., m, ...], b [..., n, ...] -> y [..., m + n, ...]`, of one plain dtype; the other extents are
 * the same. More than two: `concatAll`.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const concat: Op<["a", "b"], ConcatParams> = {
  name: "concat",
  inputs: ["a", "b"],
  defaults: {},
  required: ["axis"],
  infer([a, b], { axis: given }) {
    requireDType("concat", "a", a!, plainTypes);
    if (a!.dtype !== b!.dtype) throw new DTypeError("concat", "a and b of one dtype", `${a!.dtype} and ${b!.dtype}`, "cast one of them");
    const axis = resolveAxis("concat", given, a!.shape.length);
    if (a!.shape.length !== b!.shape.length || !a!.shape.every((dim, i) => i === axis || sameDim(dim, b!.shape[i]!)))
      throw new ShapeError("concat", `shapes that differ along axis ${axis} alone`, `${formatSpec(a!)} and ${formatSpec(b!)}`);
    const extent =
      requireExtent("concat", `axis ${axis} of a`, a!.shape[axis]!) + requireExtent("concat", `axis ${axis} of b`, b!.shape[axis]!);
    return { dtype: a!.dtype, shape: a!.shape.map((dim, i) => (i === axis ? extent : dim)) };
  },
  cost: (inputs, _params, y) => elementwiseCost(0, inputs, y),
  reference([a, b], { axis: given }, y) {
    const axis = resolveAxis("concat", given, y.spec.shape.length);
    const strides = rowMajor(y.spec.shape);
    copyBlock(a!.spec.shape, a!, { start: 0, strides: rowMajor(a!.spec.shape) }, y, { start: 0, strides });
    const start = a!.spec.shape[axis]! * strides[axis]!;
    copyBlock(b!.spec.shape, b!, { start: 0, strides: rowMajor(b!.spec.shape) }, y, { start, strides });
  },
};
