import type { GpuKernelOf } from "../kernel.ts";
import { comparison } from "../shared/relation.ts";

export const notEqual: GpuKernelOf<"notEqual"> = comparison("ne");
