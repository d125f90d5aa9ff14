import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Rectified linear unit: `y = max(x, 0)`. NaN stays NaN.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const relu: Op<["x"]> = unary({ name: "relu", defaults: {}, flops: 1, f: (x) => Math.max(x, 0) });
