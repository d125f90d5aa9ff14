import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

const slope = Math.sqrt(2 / Math.PI);

/**
 * `y = 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`: the tanh form of the Gaussian error linear unit
 * (Hendrycks & Gimpel, 2016). `x [...] -> y [...]`. @throws {DTypeError} unless f32
 */
export const gelu: Op<["x"]> = unary({
  name: "gelu",
  defaults: {},
  flops: 8,
  f: (x) => 0.5 * x * (1 + Math.tanh(slope * (x + 0.044715 * x * x * x))),
});
