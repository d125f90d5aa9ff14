import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

const alpha = 1.6732632423543772;
const lambda = 1.0507009873554805;

/**
 * Scaled exponential linear unit (Klambauer et al., 2017): `y = lambda * x` for `x > 0`, else `lambda * alpha * (exp(x) - 1)`, with lambda
 * 1.0507 and alpha 1.6733.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const selu: Op<["x"]> = unary({
  name: "selu",
  defaults: {},
  flops: 3,
  f: (x) => (x > 0 ? lambda * x : lambda * alpha * Math.expm1(x)),
});
