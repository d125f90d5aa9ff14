import type { Op } from "../program/op.ts";
import { type ReduceParams, reduction } from "./shared/axes.ts";

/**
 * Sum along an axis. An empty axis gives 0.
 *
 * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
 * @throws {DTypeError} unless x is f32
 * @throws {ShapeError} if `axis` is given for a scalar
 * @throws {ArgumentError} if x has no such axis
 */
export const sum: Op<["x"], ReduceParams, keyof ReduceParams> = reduction({
  name: "sum",
  empty: true,
  fold: (line) => line.reduce((sum, value) => sum + value, 0),
});
