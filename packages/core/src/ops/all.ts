import type { Op } from "../program/op.ts";
import { type ReduceParams, reduction } from "./shared/axes.ts";

/**
 * Whether every element of an axis is true; true for an empty one.
 * `x [...] bool -> y [...] bool` without the axis (all axes if it is null), or with extents of 1 in its place.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const all: Op<["x"], ReduceParams, keyof ReduceParams> = reduction({
  name: "all",
  dtype: "bool",
  empty: true,
  fold(x, at, stride, n) {
    for (let i = 0; i < n; i++) if (x[at + i * stride] === 0) return 0;
    return 1;
  },
});
