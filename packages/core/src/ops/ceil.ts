import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Rounds up to a whole number: `y = ceil(x)`.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const ceil: Op<["x"]> = unary({ name: "ceil", defaults: {}, flops: 1, f: (x) => Math.ceil(x) });
