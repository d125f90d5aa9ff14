import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Negation: `y = -x`.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const neg: Op<["x"]> = unary({ name: "neg", defaults: {}, flops: 1, f: (x) => -x });
