import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Arc sine in radians: `y = asin(x)`; NaN outside [-1, 1].
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const asin: Op<["x"]> = unary({ name: "asin", defaults: {}, flops: 1, f: (x) => Math.asin(x) });
