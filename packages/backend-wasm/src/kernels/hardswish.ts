import { f32x4, v128 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { unary } from "./shared/unary.ts";

export const hardswish: Kernel = unary("hardswish", [], (f, _target, x) => {
  const middle = f32x4.div(f32x4.mul(x, f32x4.add(x, f.splat(3))), f.splat(6));
  const upper = v128.bitselect(f32x4.ge(x, f.splat(3)), x, middle);
  return v128.bitselect(f32x4.le(x, f.splat(-3)), v128.zero(), upper);
});
