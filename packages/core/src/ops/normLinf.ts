import type { Op } from "../program/op.ts";
import { type ReduceParams, reduction } from "./shared/axes.ts";

/**
 * Maximum norm over an axis: `max(|x|)`; NaN if any element is NaN, 0 for an empty axis.
 * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const normLinf: Op<["x"], ReduceParams, keyof ReduceParams> = reduction({
  name: "normLinf",
  empty: true,
  fold(x, at, stride, n) {
    let largest = 0;
    for (let i = 0; i < n; i++) largest = Math.max(largest, Math.abs(x[at + i * stride]!));
    return largest;
  },
});
