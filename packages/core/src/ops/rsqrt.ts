import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Reciprocal square root: `y = 1 / sqrt(x)`; Infinity at 0, NaN below.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const rsqrt: Op<["x"]> = unary({ name: "rsqrt", defaults: {}, flops: 2, f: (x) => 1 / Math.sqrt(x) });
