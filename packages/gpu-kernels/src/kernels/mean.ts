import { asValue } from "../extent.ts";
import type { GpuKernelOf } from "../kernel.ts";
import { floatOf, reduction } from "../rows/reduction.ts";

export const mean: GpuKernelOf<"mean"> = reduction({
  initial: 0,
  combine: (k, a, b) => k.add(a, b),
  // Some compilers do not fold 0 / 0 to NaN.
  finish: (k, sum, length) =>
    k.select(k.compare("eq", asValue(k, length), 0), k.constant("f32", Number.NaN), k.div(sum, floatOf(k, length))),
});
