import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

const slope = Math.sqrt(2 / Math.PI);

/**
 * Gaussian error linear unit (Hendrycks & Gimpel, 2016), tanh form: `y = 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`.
 * `x [...] -> y [...]`, f32. `geluErf` is the exact form.
 * @throws {DTypeError} unless x is f32
 */
export const gelu: Op<["x"]> = unary({
  name: "gelu",
  defaults: {},
  flops: 8,
  f: (x) => 0.5 * x * (1 + Math.tanh(slope * (x + 0.044715 * x * x * x))),
});
