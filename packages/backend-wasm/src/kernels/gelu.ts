import { f32x4 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { exp } from "../math/exp.ts";
import { madd } from "../target.ts";
import { unary } from "./shared/unary.ts";

/** `0.5 (1 + tanh u)` is the sigmoid of `2 u`, which does not cancel where `tanh u` is close to -1. */
const twice = -2 * Math.sqrt(2 / Math.PI);

export const gelu: Kernel = unary("gelu", [], (f, target, x) => {
  const square = f.let(f32x4.mul(x, x));
  const u = f32x4.mul(x, madd(target, square, f.splat(0.044715 * twice), f.splat(twice)));
  return f32x4.div(x, f32x4.add(exp(f, target, u), f.splat(1)));
});
