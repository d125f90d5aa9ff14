import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** `y = 1 / x`; an infinity at 0. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const reciprocal: Op<["x"]> = unary({ name: "reciprocal", defaults: {}, flops: 1, f: (x) => 1 / x });
