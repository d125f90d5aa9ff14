import type { Op } from "../program/op.ts";
import { type ReduceParams, reduction } from "./shared/axes.ts";

/**
 * Sum over an axis with compensation (Kahan, 1965, as improved by Neumaier, 1974): as good as a sum in twice the precision, so that
 * large terms of opposite signs leave the small ones between them. 0 for an empty axis; `sum` is faster.
 * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const sumKahan: Op<["x"], ReduceParams, keyof ReduceParams> = reduction({
  name: "sumKahan",
  empty: true,
  fold(x, at, stride, n) {
    let sum = 0;
    let lost = 0;
    for (let i = 0; i < n; i++) {
      const value = x[at + i * stride]!;
      const next = sum + value;
      lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
      sum = next;
    }
    // Once the sum is infinite or NaN, what was lost is NaN.
    return Number.isFinite(sum) ? sum + lost : sum;
  },
});
