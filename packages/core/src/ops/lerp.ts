import type { Op } from "../program/op.ts";
import { ternary } from "./shared/elementwise.ts";

/**
 * Linear interpolation `y = a + t * (b - a)` with broadcasting, f32; `t` may be outside [0, 1].
 * `a [...], b [...], t [...] -> y [...]`. @throws {ShapeError | DTypeError}
 */
export const lerp: Op<["a", "b", "t"]> = ternary({ name: "lerp", inputs: ["a", "b", "t"], flops: 3, f: (a, b, t) => a + t * (b - a) });
