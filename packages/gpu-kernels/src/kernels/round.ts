import type { GpuKernel } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const round: GpuKernel = unary((k, x) => k.round(x));
