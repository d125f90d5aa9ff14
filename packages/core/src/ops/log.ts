import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** `y = log(x)`: the natural logarithm; -Infinity at 0, NaN below. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const log: Op<["x"]> = unary({ name: "log", defaults: {}, flops: 1, f: (x) => Math.log(x) });
