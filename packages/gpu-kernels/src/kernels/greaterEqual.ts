import type { GpuKernel } from "../kernel.ts";
import { comparison } from "../shared/relation.ts";

export const greaterEqual: GpuKernel = comparison("ge");
