import type { GpuKernel } from "../kernel.ts";
import { logical } from "../shared/relation.ts";

export const logicalNot: GpuKernel = logical((k, [x]) => k.not(x!));
