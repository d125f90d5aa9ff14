import type { GpuKernel } from "../kernel.ts";
import { logical } from "../shared/relation.ts";

export const logicalAnd: GpuKernel = logical((k, [a, b]) => k.both(a!, b!));
