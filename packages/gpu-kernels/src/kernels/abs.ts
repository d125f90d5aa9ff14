import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const abs: GpuKernelOf<"abs"> = unary((k, x) => k.abs(x));
