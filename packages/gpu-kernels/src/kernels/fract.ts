import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const fract: GpuKernelOf<"fract"> = unary((k, x) => k.sub(x, k.floor(x)));
