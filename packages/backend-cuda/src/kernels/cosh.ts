import { exp } from "../ptx/math.ts";
import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const cosh: Kernel = unary("cosh", (k, x) => {
  const e = exp(k, k.abs(x));
  return k.mul(k.add(e, k.div(k.constant("f32", 1), e)), 0.5);
});
