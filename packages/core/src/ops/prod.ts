import type { Op } from "../program/op.ts";
import { type ReduceParams, reduction } from "./shared/axes.ts";

/**
 * Product over an axis; 1 for an empty one.
 * `x [...] -> y [...]`, f32, without the axis (all axes if it is null), or with extents of 1 in its place.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const prod: Op<["x"], ReduceParams, keyof ReduceParams> = reduction({
  name: "prod",
  empty: true,
  fold(x, at, stride, n) {
    let product = 1;
    for (let i = 0; i < n; i++) product *= x[at + i * stride]!;
    return product;
  },
});
