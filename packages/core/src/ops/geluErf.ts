import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";
import { erf } from "./shared/erf.ts";

/**
 * `y = 0.5 * x * (1 + erf(x / sqrt(2)))`: the exact form of the Gaussian error linear unit (Hendrycks & Gimpel, 2016); `gelu` is the
 * tanh form. `x [...] -> y [...]`. @throws {DTypeError} unless f32
 */
export const geluErf: Op<["x"]> = unary({ name: "geluErf", defaults: {}, flops: 8, f: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)) });
