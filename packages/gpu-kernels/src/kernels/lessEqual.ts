import type { GpuKernel } from "../kernel.ts";
import { comparison } from "../shared/relation.ts";

export const lessEqual: GpuKernel = comparison("le");
