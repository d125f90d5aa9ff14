import type { GpuKernel } from "../kernel.ts";
import { elementwise } from "../shared/elementwise.ts";

export const lerp: GpuKernel = elementwise((k, [a, b, t]) => k.fma(t!, k.sub(b!, a!), a!));
