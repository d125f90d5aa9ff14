import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { inverse } from "../shared/math.ts";

export const rsqrt: GpuKernelOf<"rsqrt"> = unary((k, x) => inverse(k, k.sqrt(x)));
