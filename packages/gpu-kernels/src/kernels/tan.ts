import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { sinCos } from "../shared/math.ts";

export const tan: GpuKernelOf<"tan"> = unary((k, x) => {
  const { sin, cos } = sinCos(k, x);
  return k.div(sin, cos);
});
