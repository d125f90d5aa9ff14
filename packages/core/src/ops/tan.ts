import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Tangent: `y = tan(x)`, with x in radians.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const tan: Op<["x"]> = unary({ name: "tan", defaults: {}, flops: 1, f: (x) => Math.tan(x) });
