import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Base-2 logarithm: `y = log2(x)`; -Infinity at 0, NaN below.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const log2: Op<["x"]> = unary({ name: "log2", defaults: {}, flops: 1, f: (x) => Math.log2(x) });
