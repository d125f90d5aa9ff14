import type { Op } from "../program/op.ts";
import { type ReduceParams, reduction } from "./shared/axes.ts";

/**
 * L2 norm over an axis: `sqrt(sum(x^2))`; 0 for an empty one.
 * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const normL2: Op<["x"], ReduceParams, keyof ReduceParams> = reduction({
  name: "normL2",
  empty: true,
  fold(x, at, stride, n) {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += x[at + i * stride]! ** 2;
    return Math.sqrt(sum);
  },
});
