import type { Op } from "../program/op.ts";
import { type ReduceParams, reduction } from "./shared/axes.ts";

/**
 * Whether at least one element along an axis is true. An empty axis gives false.
 *
 * `x [...] bool -> y [...] bool`. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1
 * (`keepDims`).
 * @throws {DTypeError} unless x is bool
 * @throws {ShapeError} if `axis` is given for a scalar
 * @throws {ArgumentError} if x has no such axis
 */
export const any: Op<["x"], ReduceParams, keyof ReduceParams> = reduction({
  name: "any",
  dtype: "bool",
  empty: true,
  fold: (line) => Number(line.some((value) => value !== 0)),
});
