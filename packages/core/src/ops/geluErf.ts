import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";
import { erf } from "./shared/erf.ts";

/**
 * Gaussian error linear unit (Hendrycks & Gimpel, 2016), exact form: `y = 0.5 * x * (1 + erf(x / sqrt(2)))`.
 * `x [...] -> y [...]`, f32. `gelu` is the tanh form.
 * @throws {DTypeError} unless x is f32
 */
export const geluErf: Op<["x"]> = unary({ name: "geluErf", defaults: {}, flops: 8, f: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)) });
