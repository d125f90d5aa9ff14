import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const log: GpuKernelOf<"log"> = unary((k, x) => k.log(x));
