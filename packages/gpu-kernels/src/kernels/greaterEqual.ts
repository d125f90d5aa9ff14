import type { GpuKernelOf } from "../kernel.ts";
import { comparison } from "../shared/relation.ts";

export const greaterEqual: GpuKernelOf<"greaterEqual"> = comparison("ge");
