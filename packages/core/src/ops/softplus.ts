import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Softplus: `y = log(1 + exp(x))`, without overflow.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const softplus: Op<["x"]> = unary({
  name: "softplus",
  defaults: {},
  flops: 4,
  f: (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))),
});
