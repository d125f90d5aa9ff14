import type { ReduceParams } from "@centella/core/backend";
import type { GpuKernel } from "../kernel.ts";
import { reduction } from "../shared/reduction.ts";

export const normL2: GpuKernel<ReduceParams> = reduction({
  initial: 0,
  map: (k, x) => k.mul(x, x),
  combine: (k, a, b) => k.add(a, b),
  finish: (k, sum) => k.sqrt(sum),
});
