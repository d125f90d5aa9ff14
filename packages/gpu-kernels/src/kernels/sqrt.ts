import type { GpuKernel } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const sqrt: GpuKernel = unary((k, x) => k.sqrt(x));
