import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Base-10 logarithm: `y = log10(x)`; -Infinity at 0, NaN below.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const log10: Op<["x"]> = unary({ name: "log10", defaults: {}, flops: 1, f: (x) => Math.log10(x) });
