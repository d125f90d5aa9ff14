import type { GpuKernelOf } from "../kernel.ts";
import { comparison } from "../shared/relation.ts";

export const equal: GpuKernelOf<"equal"> = comparison("eq");
