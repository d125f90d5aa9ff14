import type { GpuKernelOf } from "../kernel.ts";
import { comparison } from "../shared/relation.ts";

export const lessEqual: GpuKernelOf<"lessEqual"> = comparison("le");
