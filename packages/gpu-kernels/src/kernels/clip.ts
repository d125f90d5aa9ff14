import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const clip: GpuKernelOf<"clip"> = unary((k, x, number) => k.minimum(k.maximum(x, number("min")), number("max")));
