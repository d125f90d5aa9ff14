import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Logistic function: `y = 1 / (1 + exp(-x))`.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const sigmoid: Op<["x"]> = unary({ name: "sigmoid", defaults: {}, flops: 3, f: (x) => 1 / (1 + Math.exp(-x)) });
