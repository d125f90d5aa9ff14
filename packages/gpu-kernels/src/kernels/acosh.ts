import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { log1p } from "../shared/math.ts";

/** `log(1 + (t + sqrt(t (t + 2))))` for `t = x - 1`; `log(2 x)` where x^2 would swamp the 1. */
export const acosh: GpuKernelOf<"acosh"> = unary((k, x) => {
  const t = k.sub(k.min(k.max(x, 1), 1e4), 1);
  const u = k.add(t, k.sqrt(k.mul(t, k.add(t, 2))));
  const large = k.add(k.log(x), Math.LN2);
  const y = k.select(k.compare("gt", x, 1e4), large, log1p(k, u));
  return k.select(k.compare("lt", x, 1), k.constant("f32", Number.NaN), y);
});
