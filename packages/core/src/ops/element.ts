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
 * One element as a scalar that later ops take: `y = x.flat[index]`. `x [...] -> y []`, f32 or i32. It is a copy, so it keeps
 * its value when `x` is written later.
 * @throws {DTypeError | ArgumentError}
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
