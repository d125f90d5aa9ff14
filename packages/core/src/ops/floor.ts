import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Rounds down to a whole number: `y = floor(x)`.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const floor: Op<["x"]> = unary({ name: "floor", defaults: {}, flops: 1, f: (x) => Math.floor(x) });
