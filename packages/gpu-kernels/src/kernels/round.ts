import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const round: GpuKernelOf<"round"> = unary((k, x) => k.round(x));
