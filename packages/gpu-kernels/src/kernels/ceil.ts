import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const ceil: GpuKernelOf<"ceil"> = unary((k, x) => k.ceil(x));
