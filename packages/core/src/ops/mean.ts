import type { Op } from "../program/op.ts";
import { type ReduceParams, reduction } from "./shared/axes.ts";

/**
 * Mean along an axis: `sum(x) / n`. A symbolic axis that is empty in a run gives NaN.
 *
 * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
 * @throws {DTypeError} unless x is f32
 * @throws {ShapeError} if `axis` is given for a scalar, or if the reduced axis is empty
 * @throws {ArgumentError} if x has no such axis
 */
export const mean: Op<["x"], ReduceParams, keyof ReduceParams> = reduction({
  name: "mean",
  empty: false,
  fold: (line) => line.reduce((sum, value) => sum + value, 0) / line.length,
});
