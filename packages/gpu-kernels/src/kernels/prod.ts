import type { ReduceParams } from "@centella/core/backend";
import type { GpuKernel } from "../kernel.ts";
import { reduction } from "../shared/reduction.ts";

export const prod: GpuKernel<ReduceParams> = reduction({ initial: 1, combine: (k, a, b) => k.mul(a, b) });
