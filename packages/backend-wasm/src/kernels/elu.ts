import { f32x4, v128 } from "../emit/index.ts";
import type { Kernel, ParamsOf } from "../kernel.ts";
import { expm1Negative } from "../math/exp.ts";
import { unary } from "./shared/unary.ts";

export const elu: Kernel<ParamsOf<"elu">> = unary("elu", ["alpha"], (f, target, x, [alpha]) => {
  const negative = expm1Negative(f, target, f32x4.pmin(x, v128.zero()));
  return v128.bitselect(f32x4.lt(x, v128.zero()), f32x4.mul(negative, alpha!), x);
});
