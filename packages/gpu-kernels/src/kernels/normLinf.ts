import type { GpuKernelOf } from "../kernel.ts";
import { reduction } from "../shared/reduction.ts";

/** By bits: magnitudes are ordered as their bits, and a NaN is larger than all of them. */
export const normLinf: GpuKernelOf<"normLinf"> = reduction({
  initial: 0,
  map: (k, x) => k.abs(x),
  combine: (k, a, b) => k.bitcast("f32", k.max(k.bitcast("u32", a), k.bitcast("u32", b))),
});
