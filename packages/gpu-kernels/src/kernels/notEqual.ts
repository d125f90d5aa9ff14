import type { GpuKernel } from "../kernel.ts";
import { comparison } from "../shared/relation.ts";

export const notEqual: GpuKernel = comparison("ne");
