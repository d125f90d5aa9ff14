import { f32x4, v128 } from "../emit/index.ts";
import type { Kernel, ParamsOf } from "../kernel.ts";
import { unary } from "./shared/unary.ts";

export const leakyRelu: Kernel<ParamsOf<"leakyRelu">> = unary("leakyRelu", ["slope"], (_f, _target, x, [slope]) =>
  v128.bitselect(f32x4.lt(x, v128.zero()), f32x4.mul(x, slope!), x),
);
