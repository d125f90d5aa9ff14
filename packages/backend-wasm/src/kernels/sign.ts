import { f32x4, v128 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { unary } from "./shared/unary.ts";

/** Zeros and NaN stay. */
export const sign: Kernel = unary("sign", [], (f, _target, x) => {
  const one = v128.or(v128.and(x, f.splatBits(0x80000000)), f.splat(1));
  return v128.bitselect(f32x4.gt(f32x4.abs(x), v128.zero()), one, x);
});
