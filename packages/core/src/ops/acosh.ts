import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Inverse hyperbolic cosine: `y = log(x + sqrt(x^2 - 1))`; NaN below 1.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const acosh: Op<["x"]> = unary({ name: "acosh", defaults: {}, flops: 3, f: (x) => Math.acosh(x) });
