import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { log1p, withSignOf } from "../shared/math.ts";

/** `log(1 + (|x| + x^2 / (1 + sqrt(1 + x^2))))` with the sign of x; `log(2 |x|)` where x^2 would swamp the 1. */
export const asinh: GpuKernelOf<"asinh"> = unary((k, x) => {
  const magnitude = k.abs(x);
  const bounded = k.min(magnitude, 1e4);
  const square = k.mul(bounded, bounded);
  const u = k.add(bounded, k.div(square, k.add(k.sqrt(k.add(square, 1)), 1)));
  const large = k.add(k.log(magnitude), Math.LN2);
  return withSignOf(k, k.select(k.compare("gt", magnitude, 1e4), large, log1p(k, u)), x);
});
