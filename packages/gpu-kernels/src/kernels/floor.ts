import type { GpuKernel } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const floor: GpuKernel = unary((k, x) => k.floor(x));
