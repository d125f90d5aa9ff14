import { sigmoid } from "../ptx/math.ts";
import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

/** `0.5 (1 + tanh(u)) = sigmoid(2u)`, which does not cancel for negative x. */
export const gelu: Kernel = unary("gelu", (k, x) => {
  const cubic = k.fma(k.mul(k.mul(x, x), x), 0.044715, x);
  return k.mul(x, sigmoid(k, k.mul(cubic, 2 * Math.sqrt(2 / Math.PI))));
});
