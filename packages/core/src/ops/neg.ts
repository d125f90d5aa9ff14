import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** `y = -x`. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const neg: Op<["x"]> = unary({ name: "neg", defaults: {}, flops: 1, f: (x) => -x });
