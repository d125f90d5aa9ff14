import type { GpuKernelOf } from "../kernel.ts";
import { logical } from "../shared/relation.ts";

export const logicalNot: GpuKernelOf<"logicalNot"> = logical((k, [x]) => k.not(x));
