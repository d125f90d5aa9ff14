import type { GpuKernelOf } from "../kernel.ts";
import { comparison } from "../shared/relation.ts";

export const less: GpuKernelOf<"less"> = comparison("lt");
