import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const cosh: GpuKernelOf<"cosh"> = unary((k, x) => {
  const e = k.exp(k.abs(x));
  return k.fma(e, 0.5, k.div(k.constant("f32", 0.5), e));
});
