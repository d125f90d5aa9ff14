import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Reciprocal: `y = 1 / x`; infinite at 0.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const reciprocal: Op<["x"]> = unary({ name: "reciprocal", defaults: {}, flops: 1, f: (x) => 1 / x });
