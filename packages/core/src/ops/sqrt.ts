import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Square root: `y = sqrt(x)`; NaN below 0.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const sqrt: Op<["x"]> = unary({ name: "sqrt", defaults: {}, flops: 1, f: (x) => Math.sqrt(x) });
