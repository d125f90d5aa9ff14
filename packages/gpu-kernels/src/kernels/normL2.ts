import type { GpuKernelOf } from "../kernel.ts";
import { reduction } from "../rows/reduction.ts";

export const normL2: GpuKernelOf<"normL2"> = reduction({
  initial: 0,
  map: (k, x) => k.mul(x, x),
  combine: (k, a, b) => k.add(a, b),
  finish: (k, sum) => k.sqrt(sum),
});
