import type { GpuKernel } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const fract: GpuKernel = unary((k, x) => k.sub(x, k.floor(x)));
