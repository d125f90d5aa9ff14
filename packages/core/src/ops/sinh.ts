import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** `y = (exp(x) - exp(-x)) / 2`. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const sinh: Op<["x"]> = unary({ name: "sinh", defaults: {}, flops: 2, f: (x) => Math.sinh(x) });
