import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** `y = 1 / (1 + exp(-x))`. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const sigmoid: Op<["x"]> = unary({ name: "sigmoid", defaults: {}, flops: 3, f: (x) => 1 / (1 + Math.exp(-x)) });
