import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { expm1, isSmaller, withSignOf } from "../shared/math.ts";

/** `(u + u / (u + 1)) / 2` with `u = exp(|x|) - 1`, which does not cancel near 0. */
export const sinh: GpuKernelOf<"sinh"> = unary((k, x) => {
  const u = expm1(k, k.abs(x));
  // From 2^24 on the second term is below the first one's rounding error; for infinity it would be NaN.
  const second = k.select(isSmaller(k, u, 2 ** 24), k.div(u, k.add(u, 1)), 0);
  return withSignOf(k, k.mul(k.add(u, second), 0.5), x);
});
