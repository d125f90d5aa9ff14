import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { softplus as logOnePlusExp } from "../shared/math.ts";

export const softplus: GpuKernelOf<"softplus"> = unary(logOnePlusExp);
