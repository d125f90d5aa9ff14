import type { GpuKernelOf } from "../kernel.ts";
import { reduction } from "../rows/reduction.ts";

export const min: GpuKernelOf<"min"> = reduction({ initial: Number.POSITIVE_INFINITY, combine: (k, a, b) => k.minimum(a, b) });
