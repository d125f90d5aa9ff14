import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Rounds toward zero to a whole number: `y = trunc(x)`.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const trunc: Op<["x"]> = unary({ name: "trunc", defaults: {}, flops: 1, f: (x) => Math.trunc(x) });
