import type { GpuKernelOf } from "../kernel.ts";
import { reduction } from "../rows/reduction.ts";

export const max: GpuKernelOf<"max"> = reduction({ initial: Number.NEGATIVE_INFINITY, combine: (k, a, b) => k.maximum(a, b) });
