import { sinCos } from "../ptx/math.ts";
import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const tan: Kernel = unary("tan", (k, x) => {
  const { sin, cos } = sinCos(k, k.convert("f64", x));
  return k.convert("f32", k.div(sin, cos));
});
