import type { ReduceParams } from "@centella/core/backend";
import type { GpuKernel } from "../kernel.ts";
import { reduction } from "../shared/reduction.ts";

export const sum: GpuKernel<ReduceParams> = reduction({ initial: 0, combine: (k, a, b) => k.add(a, b) });
