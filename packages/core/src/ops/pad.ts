import { describe, elementAt } from "@centella/quant/checks";
import { ArgumentError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { requireExtent, requireWhole } from "./shared/checks.ts";
import { plainTypes } from "./shared/dtypes.ts";
import { elementwiseCost, requireDType } from "./shared/elementwise.ts";
import { requireValue } from "./shared/values.ts";

export interface PadParams {
  /** One pair per axis: the number of elements to add before and after. */
  readonly pads: readonly (readonly [before: number, after: number])[];
  /** Value of the added elements, which the dtype of `x` must be able to represent. */
  readonly value: number;
}

/**
 * Adds elements of a constant value before and after each axis.
 * `x [n, ...] -> y [before + n + after, ...]`, any plain dtype.
 * @throws {DTypeError} unless x has a plain dtype
 * @throws {ShapeError} if a padded axis is symbolic
 * @throws {ArgumentError} unless `pads` has one pair per axis and the dtype can hold the value
 */
export const pad: Op<["x"], PadParams, "value"> = {
  name: "pad",
  inputs: ["x"],
  defaults: { value: 0 },
  required: ["pads"],
  infer([x], { pads, value }) {
    requireDType("pad", "x", x, plainTypes);
    requireValue("pad", x.dtype, value);
    if (!Array.isArray(pads) || pads.length !== x.shape.length || !pads.every((pair) => Array.isArray(pair) && pair.length === 2))
      throw new ArgumentError(
        "pad",
        `pads to be ${x.shape.length} pairs [before, after], one per axis`,
        describe(pads),
        "[0, 0] leaves an axis unchanged",
      );
    const shape = x.shape.map((dim, axis) => {
      const [before, after] = elementAt(pads, axis);
      requireWhole("pad", `pads[${axis}][0]`, before, 0);
      requireWhole("pad", `pads[${axis}][1]`, after, 0);
      return before + after === 0 ? dim : requireExtent("pad", `the padded axis ${axis}`, dim) + before + after;
    });
    return { dtype: x.dtype, shape };
  },
  cost: (inputs, _params, y) => elementwiseCost(0, inputs, y),
};
