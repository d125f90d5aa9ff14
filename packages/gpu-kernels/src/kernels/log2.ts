import type { GpuKernel } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const log2: GpuKernel = unary((k, x) => k.mul(k.log(x), Math.LOG2E));
