import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { inverse } from "../shared/math.ts";

export const reciprocal: GpuKernelOf<"reciprocal"> = unary(inverse);
