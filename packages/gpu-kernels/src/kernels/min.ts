import type { ReduceParams } from "@centella/core/backend";
import type { GpuKernel } from "../kernel.ts";
import { reduction } from "../shared/reduction.ts";

export const min: GpuKernel<ReduceParams> = reduction({ initial: Number.POSITIVE_INFINITY, combine: (k, a, b) => k.minimum(a, b) });
