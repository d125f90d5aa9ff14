import type { ReduceParams } from "@centella/core/backend";
import type { GpuKernel } from "../kernel.ts";
import { reduction } from "../shared/reduction.ts";

export const max: GpuKernel<ReduceParams> = reduction({ initial: Number.NEGATIVE_INFINITY, combine: (k, a, b) => k.maximum(a, b) });
