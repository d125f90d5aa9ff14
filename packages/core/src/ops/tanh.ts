import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Hyperbolic tangent: `y = tanh(x)`.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const tanh: Op<["x"]> = unary({ name: "tanh", defaults: {}, flops: 1, f: (x) => Math.tanh(x) });
