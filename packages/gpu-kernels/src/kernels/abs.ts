import type { GpuKernel } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const abs: GpuKernel = unary((k, x) => k.abs(x));
