import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { logistic } from "../shared/math.ts";

/** `0.5 (1 + tanh(u)) = logistic(2u)`, which does not cancel for negative x. */
export const gelu: GpuKernelOf<"gelu"> = unary((k, x) => {
  const cubic = k.fma(k.mul(k.mul(x, x), x), 0.044715, x);
  return k.mul(x, logistic(k, k.mul(cubic, 2 * Math.sqrt(2 / Math.PI))));
});
