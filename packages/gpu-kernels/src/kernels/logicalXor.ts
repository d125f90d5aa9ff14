import type { GpuKernel } from "../kernel.ts";
import { logical } from "../shared/relation.ts";

export const logicalXor: GpuKernel = logical((k, [a, b]) => k.both(k.either(a!, b!), k.not(k.both(a!, b!))));
