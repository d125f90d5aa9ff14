import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const log10: GpuKernelOf<"log10"> = unary((k, x) => k.mul(k.log(x), Math.LOG10E));
