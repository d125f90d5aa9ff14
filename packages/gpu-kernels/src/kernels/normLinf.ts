import type { GpuKernelOf } from "../kernel.ts";
import { reduction } from "../rows/reduction.ts";

/** Compares bits: magnitudes are ordered like their bits, and NaN is above them all. */
export const normLinf: GpuKernelOf<"normLinf"> = reduction({
  initial: 0,
  map: (k, x) => k.abs(x),
  combine: (k, a, b) => k.bitcast("f32", k.max(k.bitcast("u32", a), k.bitcast("u32", b))),
});
