import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** `y = |x|`. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const abs: Op<["x"]> = unary({ name: "abs", defaults: {}, flops: 1, f: (x) => Math.abs(x) });
