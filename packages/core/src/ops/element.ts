import { ArgumentError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { byteLength, elementCount, formatSpec, isConcrete } from "../spec.ts";
import { requireWhole } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";

export interface ElementParams {
  /** Row-major index of the element. */
  readonly index: number;
}

/**
 * One element of a tensor as a scalar that later ops can read: `y = x.flat[index]`.
 * `x [...] -> y []`, f32 or i32. The scalar is a copy: it keeps its value when `x` is written later.
 * @throws {DTypeError} unless x is f32 or i32
 * @throws {ArgumentError} if `index` is outside x, for symbolic extents when the program runs
 */
export const element: Op<["x"], ElementParams> = {
  name: "element",
  inputs: ["x"],
  defaults: {},
  required: ["index"],
  infer([x], { index }) {
    requireDType("element", "x", x, ["f32", "i32"]);
    requireWhole("element", "index", index, 0);
    if (isConcrete(x) && index >= elementCount(x.shape))
      throw new ArgumentError(
        "element",
        `an index below ${elementCount(x.shape)} for ${formatSpec(x)}`,
        String(index),
        "count from 0 in row-major order",
      );
    return { dtype: x.dtype, shape: [] };
  },
  cost: (_inputs, _params, y) => ({ flops: 0, bytes: 2 * byteLength(y) }),
};
