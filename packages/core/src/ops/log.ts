import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Natural logarithm: `y = log(x)`; -Infinity at 0, NaN below.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const log: Op<["x"]> = unary({ name: "log", defaults: {}, flops: 1, f: (x) => Math.log(x) });
