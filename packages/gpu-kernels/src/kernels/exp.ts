import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const exp: GpuKernelOf<"exp"> = unary((k, x) => k.exp(x));
