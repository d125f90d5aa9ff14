import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const log2: GpuKernelOf<"log2"> = unary((k, x) => k.mul(k.log(x), Math.LOG2E));
