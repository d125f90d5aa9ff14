import type { GpuKernel } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const exp: GpuKernel = unary((k, x) => k.exp(x));
