import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { logistic } from "../shared/math.ts";

export const sigmoid: GpuKernelOf<"sigmoid"> = unary(logistic);
