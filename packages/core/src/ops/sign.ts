import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Sign: `y` is 1 above 0, -1 below, and 0 at 0. NaN stays NaN.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const sign: Op<["x"]> = unary({ name: "sign", defaults: {}, flops: 1, f: (x) => Math.sign(x) });
