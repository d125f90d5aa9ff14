import type { GpuKernel } from "../kernel.ts";
import { elementwise } from "../shared/elementwise.ts";

export const fma: GpuKernel = elementwise((k, [a, b, c]) => k.fma(a!, b!, c!));
