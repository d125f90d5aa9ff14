import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** `y = log10(x)`: the base-10 logarithm; -Infinity at 0, NaN below. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const log10: Op<["x"]> = unary({ name: "log10", defaults: {}, flops: 1, f: (x) => Math.log10(x) });
