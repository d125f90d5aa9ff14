import type { Op } from "../program/op.ts";
import { ternary } from "./shared/elementwise.ts";

/**
 * Linear interpolation: `y = a + t * (b - a)`. `t` may be outside [0, 1].
 * `a [...], b [...], t [...] -> y [...]` with broadcasting, f32.
 * @throws {ShapeError} if the shapes do not broadcast
 * @throws {DTypeError} unless all inputs are f32
 */
export const lerp: Op<["a", "b", "t"]> = ternary({ name: "lerp", inputs: ["a", "b", "t"], flops: 3, f: (a, b, t) => a + t * (b - a) });
