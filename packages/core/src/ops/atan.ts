import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Arc tangent in radians: `y = atan(x)`.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const atan: Op<["x"]> = unary({ name: "atan", defaults: {}, flops: 1, f: (x) => Math.atan(x) });
