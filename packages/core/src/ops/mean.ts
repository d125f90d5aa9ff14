import type { Op } from "../program/op.ts";
import { type ReduceParams, reduction } from "./shared/axes.ts";

/**
 * Mean over an axis: `sum(x) / n`. An axis that is empty only in a run gives NaN.
 * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const mean: Op<["x"], ReduceParams, keyof ReduceParams> = reduction({
  name: "mean",
  empty: false,
  fold(x, at, stride, n) {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += x[at + i * stride]!;
    return sum / n;
  },
});
