import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Inverse hyperbolic sine: `y = log(x + sqrt(x^2 + 1))`.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const asinh: Op<["x"]> = unary({ name: "asinh", defaults: {}, flops: 3, f: (x) => Math.asinh(x) });
