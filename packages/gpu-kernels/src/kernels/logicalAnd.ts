import type { GpuKernelOf } from "../kernel.ts";
import { logical } from "../shared/relation.ts";

export const logicalAnd: GpuKernelOf<"logicalAnd"> = logical((k, [a, b]) => k.both(a, b));
