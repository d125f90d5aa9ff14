import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

const alpha = 1.6732632423543772;
const lambda = 1.0507009873554805;

/** `y = lambda * x` above 0, `lambda * alpha * (exp(x) - 1)` below: the self-normalising unit (Klambauer et al., 2017). `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const selu: Op<["x"]> = unary({
  name: "selu",
  defaults: {},
  flops: 3,
  f: (x) => (x > 0 ? lambda * x : lambda * alpha * Math.expm1(x)),
});
