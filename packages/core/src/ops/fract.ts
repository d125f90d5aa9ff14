import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Fractional part as in shading languages: `y = x - floor(x)`, in [0, 1). Infinities give NaN.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const fract: Op<["x"]> = unary({ name: "fract", defaults: {}, flops: 1, f: (x) => x - Math.floor(x) });
