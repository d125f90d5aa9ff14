import type { Op } from "../program/op.ts";
import { type ReduceParams, reduction } from "./shared/axes.ts";

/**
 * Smallest value over an axis; NaN if any element is NaN. An axis that is empty only in a run gives Infinity.
 * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const min: Op<["x"], ReduceParams, keyof ReduceParams> = reduction({
  name: "min",
  empty: false,
  fold(x, at, stride, n) {
    let smallest = Number.POSITIVE_INFINITY;
    for (let i = 0; i < n; i++) {
      const value = x[at + i * stride]!;
      if (value < smallest || Number.isNaN(value)) smallest = value;
      if (Number.isNaN(smallest)) break;
    }
    return smallest;
  },
});
