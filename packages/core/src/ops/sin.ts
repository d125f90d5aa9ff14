import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Sine: `y = sin(x)`, with x in radians.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const sin: Op<["x"]> = unary({ name: "sin", defaults: {}, flops: 1, f: (x) => Math.sin(x) });
