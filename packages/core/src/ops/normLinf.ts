import type { Op } from "../program/op.ts";
import { type ReduceParams, reduction } from "./shared/axes.ts";

/**
 * Maximum norm along an axis: `max(|x|)`; NaN if any element is NaN. An empty axis gives 0.
 *
 * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
 * @throws {DTypeError} unless x is f32
 * @throws {ShapeError} if `axis` is given for a scalar
 * @throws {ArgumentError} if x has no such axis
 */
export const normLinf: Op<["x"], ReduceParams, keyof ReduceParams> = reduction({
  name: "normLinf",
  empty: true,
  fold: (line) => line.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0),
});
