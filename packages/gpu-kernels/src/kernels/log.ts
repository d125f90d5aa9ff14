import type { GpuKernel } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const log: GpuKernel = unary((k, x) => k.log(x));
