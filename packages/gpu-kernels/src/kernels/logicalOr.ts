import type { GpuKernelOf } from "../kernel.ts";
import { logical } from "../shared/relation.ts";

export const logicalOr: GpuKernelOf<"logicalOr"> = logical((k, [a, b]) => k.either(a, b));
