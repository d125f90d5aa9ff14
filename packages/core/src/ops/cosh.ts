import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Hyperbolic cosine: `y = (exp(x) + exp(-x)) / 2`.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const cosh: Op<["x"]> = unary({ name: "cosh", defaults: {}, flops: 2, f: (x) => Math.cosh(x) });
