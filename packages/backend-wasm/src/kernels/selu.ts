import { f32x4, v128 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { expm1Negative } from "../math/exp.ts";
import { unary } from "./shared/unary.ts";

const alpha = 1.6732632423543772;
const lambda = 1.0507009873554805;

export const selu: Kernel = unary("selu", [], (f, target, x) => {
  const negative = expm1Negative(f, target, f32x4.pmin(x, v128.zero()));
  return v128.bitselect(f32x4.gt(x, v128.zero()), f32x4.mul(x, f.splat(lambda)), f32x4.mul(negative, f.splat(lambda * alpha)));
});
