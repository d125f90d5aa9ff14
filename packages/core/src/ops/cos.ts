import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Cosine: `y = cos(x)`, with x in radians.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const cos: Op<["x"]> = unary({ name: "cos", defaults: {}, flops: 1, f: (x) => Math.cos(x) });
