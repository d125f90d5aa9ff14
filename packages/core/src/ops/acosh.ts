import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** `y = log(x + sqrt(x^2 - 1))`; NaN below 1. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const acosh: Op<["x"]> = unary({ name: "acosh", defaults: {}, flops: 3, f: (x) => Math.acosh(x) });
