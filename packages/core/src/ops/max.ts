import type { Op } from "../program/op.ts";
import { type ReduceParams, reduction } from "./shared/axes.ts";

/**
 * Largest value along an axis; NaN if any element is NaN. A symbolic axis that is empty in a run gives -Infinity.
 *
 * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
 * @throws {DTypeError} unless x is f32
 * @throws {ShapeError} if `axis` is given for a scalar, or if the reduced axis is empty
 * @throws {ArgumentError} if x has no such axis
 */
export const max: Op<["x"], ReduceParams, keyof ReduceParams> = reduction({
  name: "max",
  empty: false,
  fold(line) {
    let largest = Number.NEGATIVE_INFINITY;
    for (const value of line) {
      if (value > largest || Number.isNaN(value)) largest = value;
      if (Number.isNaN(largest)) break;
    }
    return largest;
  },
});
