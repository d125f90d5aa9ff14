import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const hardswish: Kernel = unary("hardswish", (k, x) => {
  const middle = k.div(k.mul(x, k.add(x, 3)), 6);
  const upper = k.select(k.compare("ge", x, 3), x, middle);
  return k.select(k.compare("le", x, -3), k.constant("f32", 0), upper);
});
