import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** `y = log2(x)`: the base-2 logarithm; -Infinity at 0, NaN below. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const log2: Op<["x"]> = unary({ name: "log2", defaults: {}, flops: 1, f: (x) => Math.log2(x) });
