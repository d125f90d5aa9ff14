import { f32x4 } from "../emit/index.ts";
import type { Kernel, ParamsOf } from "../kernel.ts";
import { unary } from "./shared/unary.ts";

export const clip: Kernel<ParamsOf<"clip">> = unary("clip", ["min", "max"], (_f, _target, x, [min, max]) =>
  f32x4.pmin(f32x4.pmax(x, min!), max!),
);
