import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Exponential function: `y = e^x`.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const exp: Op<["x"]> = unary({ name: "exp", defaults: {}, flops: 1, f: (x) => Math.exp(x) });
