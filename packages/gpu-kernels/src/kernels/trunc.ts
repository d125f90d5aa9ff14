import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const trunc: GpuKernelOf<"trunc"> = unary((k, x) => k.trunc(x));
