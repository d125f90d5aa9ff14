import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Hyperbolic sine: `y = (exp(x) - exp(-x)) / 2`.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const sinh: Op<["x"]> = unary({ name: "sinh", defaults: {}, flops: 2, f: (x) => Math.sinh(x) });
