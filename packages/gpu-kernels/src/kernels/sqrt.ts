import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const sqrt: GpuKernelOf<"sqrt"> = unary((k, x) => k.sqrt(x));
