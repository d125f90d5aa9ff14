import type { GpuKernelOf } from "../kernel.ts";
import { elementwise } from "../shared/elementwise.ts";

export const lerp: GpuKernelOf<"lerp"> = elementwise((k, [a, b, t]) => k.fma(t, k.sub(b, a), a));
