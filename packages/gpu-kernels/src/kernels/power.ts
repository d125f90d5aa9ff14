import type { GpuKernel } from "../kernel.ts";
import { elementwise } from "../shared/elementwise.ts";
import { ieeePower } from "../shared/power.ts";

export const power: GpuKernel = elementwise((k, [a, b]) => ieeePower(k, a!, b!));
