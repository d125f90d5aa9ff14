import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Arc cosine in radians: `y = acos(x)`; NaN outside [-1, 1].
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const acos: Op<["x"]> = unary({ name: "acos", defaults: {}, flops: 1, f: (x) => Math.acos(x) });
