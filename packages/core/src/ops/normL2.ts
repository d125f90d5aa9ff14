import type { Op } from "../program/op.ts";
import { type ReduceParams, reduction } from "./shared/axes.ts";

/**
 * L2 norm along an axis: `sqrt(sum(x^2))`. An empty axis gives 0.
 *
 * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
 * @throws {DTypeError} unless x is f32
 * @throws {ShapeError} if `axis` is given for a scalar
 * @throws {ArgumentError} if x has no such axis
 */
export const normL2: Op<["x"], ReduceParams, keyof ReduceParams> = reduction({
  name: "normL2",
  empty: true,
  fold: (line) => Math.sqrt(line.reduce((sum, value) => sum + value ** 2, 0)),
});
