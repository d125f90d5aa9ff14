import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Absolute value: `y = |x|`.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const abs: Op<["x"]> = unary({ name: "abs", defaults: {}, flops: 1, f: (x) => Math.abs(x) });
