import { f32x4 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { exp } from "../math/exp.ts";
import { unary } from "./shared/unary.ts";

export const silu: Kernel = unary("silu", [], (f, target, x) => {
  const e = exp(f, target, f32x4.neg(x));
  return f32x4.div(x, f32x4.add(e, f.splat(1)));
});
