import type { GpuKernel } from "../kernel.ts";
import { comparison } from "../shared/relation.ts";

export const greater: GpuKernel = comparison("gt");
