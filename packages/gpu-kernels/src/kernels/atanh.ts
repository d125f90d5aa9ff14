import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { log1p, withSignOf } from "../shared/math.ts";

/** `log(1 + 2 |x| / (1 - |x|)) / 2` with the sign of x. */
export const atanh: GpuKernelOf<"atanh"> = unary((k, x) => {
  const magnitude = k.abs(x);
  // The largest f32 below 1.
  const inside = k.min(magnitude, 1 - 2 ** -24);
  const y = k.mul(log1p(k, k.div(k.mul(inside, 2), k.sub(k.constant("f32", 1), inside))), 0.5);
  const edge = k.select(k.compare("eq", magnitude, 1), k.constant("f32", Number.POSITIVE_INFINITY), Number.NaN);
  return withSignOf(k, k.select(k.compare("lt", magnitude, 1), y, edge), x);
});
