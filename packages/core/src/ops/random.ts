import type { Op } from "../program/op.ts";
import { byteLength, elementCount, type Shape } from "../spec.ts";
import { requireDims, requireOneOf, requireShape, requireWhole } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";

export interface RandomParams {
  /** Shape of the result. */
  readonly shape: Shape;
  /** Whole number from 0. The same seed gives the same numbers everywhere. */
  readonly seed: number;
  /** "uniform": multiples of 2^-24 in [0, 1). "normal": mean 0 and variance 1. */
  readonly distribution: "uniform" | "normal";
}

/**
 * Random numbers from a counter: the same seed gives the same numbers on every backend.
 * `draw []? -> y [...shape]`, f32. `draw` is an i32 scalar, 0 if left out. A plan repeats its numbers in every run unless `draw` changes.
 *
 * Element i is made from word `i % 4` of Philox4x32-10 (Salmon et al., 2011) with the 64-bit key `seed` and the counter
 * `[floor(i / 4) low, floor(i / 4) high, draw, 0]`.
 *
 * - Uniform: `(word >>> 8) * 2^-24`.
 * - Normal: pairs of words by the Box–Muller transform, `sqrt(-2 log(u + 2^-24)) * (cos, sin)(2 pi v)`.
 * @throws {ShapeError | DTypeError} unless `draw` is an i32 scalar
 * @throws {ArgumentError} if an option is out of range
 */
export const random: Op<[], RandomParams, "distribution", ["draw"]> = {
  name: "random",
  inputs: [],
  optionalInputs: ["draw"],
  defaults: { distribution: "uniform" },
  required: ["shape", "seed"],
  infer([draw], { shape, seed, distribution }) {
    requireDims("random", shape);
    requireWhole("random", "seed", seed, 0);
    requireOneOf("random", "distribution", distribution, ["uniform", "normal"]);
    if (draw !== undefined) {
      requireDType("random", "draw", draw, ["i32"]);
      requireShape("random", "draw", draw, []);
    }
    return { dtype: "f32", shape };
  },
  cost: (_inputs, _params, y) => ({ flops: 20 * elementCount(y.shape), bytes: byteLength(y) }),
};
