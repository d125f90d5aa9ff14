import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Mish activation (Misra, 2019): `y = x * tanh(log(1 + exp(x)))`.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const mish: Op<["x"]> = unary({ name: "mish", defaults: {}, flops: 5, f: (x) => x * Math.tanh(Math.log1p(Math.exp(x))) });
