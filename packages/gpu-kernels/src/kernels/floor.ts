import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const floor: GpuKernelOf<"floor"> = unary((k, x) => k.floor(x));
