import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Inverse hyperbolic tangent: `y = log((1 + x) / (1 - x)) / 2`; infinite at 1 and -1, NaN outside [-1, 1].
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const atanh: Op<["x"]> = unary({ name: "atanh", defaults: {}, flops: 3, f: (x) => Math.atanh(x) });
