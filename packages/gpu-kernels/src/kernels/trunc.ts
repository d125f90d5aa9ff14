import type { GpuKernel } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const trunc: GpuKernel = unary((k, x) => k.trunc(x));
