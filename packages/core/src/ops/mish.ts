import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** `y = x * tanh(log(1 + exp(x)))` (Misra, 2019). `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const mish: Op<["x"]> = unary({ name: "mish", defaults: {}, flops: 5, f: (x) => x * Math.tanh(Math.log1p(Math.exp(x))) });
