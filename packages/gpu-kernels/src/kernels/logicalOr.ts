import type { GpuKernel } from "../kernel.ts";
import { logical } from "../shared/relation.ts";

export const logicalOr: GpuKernel = logical((k, [a, b]) => k.either(a!, b!));
