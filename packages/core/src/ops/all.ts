import type { Op } from "../program/op.ts";
import { type ReduceParams, reduction } from "./shared/axes.ts";

/**
 * Whether every element along an axis is true. An empty axis gives true.
 *
 * `x [...] bool -> y [...] bool`. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1
 * (`keepDims`).
 * @throws {DTypeError} unless x is bool
 * @throws {ShapeError} if `axis` is given for a scalar
 * @throws {ArgumentError} if x has no such axis
 */
export const all: Op<["x"], ReduceParams, keyof ReduceParams> = reduction({
  name: "all",
  dtype: "bool",
  empty: true,
  fold: (line) => Number(line.every((value) => value !== 0)),
});
