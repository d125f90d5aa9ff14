import type { Op } from "../program/op.ts";
import { type ReduceParams, reduction } from "./shared/axes.ts";

/**
 * L1 norm along an axis: `sum(|x|)`. An empty axis gives 0.
 *
 * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
 * @throws {DTypeError} unless x is f32
 * @throws {ShapeError} if `axis` is given for a scalar
 * @throws {ArgumentError} if x has no such axis
 */
export const normL1: Op<["x"], ReduceParams, keyof ReduceParams> = reduction({
  name: "normL1",
  empty: true,
  fold: (line) => line.reduce((sum, value) => sum + Math.abs(value), 0),
});
