import type { Op } from "../program/op.ts";
import { type ReduceParams, reduction } from "./shared/axes.ts";

/**
 * Sum over an axis; 0 for an empty one.
 * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const sum: Op<["x"], ReduceParams, keyof ReduceParams> = reduction({
  name: "sum",
  empty: true,
  fold(x, at, stride, n) {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += x[at + i * stride]!;
    return sum;
  },
});
