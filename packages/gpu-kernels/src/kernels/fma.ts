import type { GpuKernelOf } from "../kernel.ts";
import { elementwise } from "../shared/elementwise.ts";

export const fma: GpuKernelOf<"fma"> = elementwise((k, [a, b, c]) => k.fma(a, b, c));
