import type { GpuKernelOf } from "../kernel.ts";
import { comparison } from "../shared/relation.ts";

export const greater: GpuKernelOf<"greater"> = comparison("gt");
