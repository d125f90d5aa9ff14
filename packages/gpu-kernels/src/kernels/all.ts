import type { ReduceParams } from "@centella/core/backend";
import type { GpuKernel } from "../kernel.ts";
import { truth } from "../shared/truth.ts";

export const all: GpuKernel<ReduceParams> = truth("all");
