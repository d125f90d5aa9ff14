import type { Op } from "../program/op.ts";
import { type ReduceParams, reduction } from "./shared/axes.ts";

/**
 * Sum along an axis with compensation (Kahan, 1965; Neumaier, 1974). An empty axis gives 0.
 *
 * The result is as accurate as a sum in twice the precision: small terms survive between large terms of opposite signs. `sum` is faster.
 *
 * `x [...] -> y [...]`, f32. The result lacks the reduced axis (every axis if `axis` is null), or keeps it with extent 1 (`keepDims`).
 * @throws {DTypeError} unless x is f32
 * @throws {ShapeError} if `axis` is given for a scalar
 * @throws {ArgumentError} if x has no such axis
 */
export const sumKahan: Op<["x"], ReduceParams, keyof ReduceParams> = reduction({
  name: "sumKahan",
  empty: true,
  fold(line) {
    let sum = 0;
    let lost = 0;
    for (const value of line) {
      const next = sum + value;
      lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
      sum = next;
    }
    // `lost` is NaN once the sum is infinite or NaN.
    return Number.isFinite(sum) ? sum + lost : sum;
  },
});
