import type { GpuKernel } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const ceil: GpuKernel = unary((k, x) => k.ceil(x));
