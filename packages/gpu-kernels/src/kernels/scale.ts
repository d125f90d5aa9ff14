import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const scale: GpuKernelOf<"scale"> = unary((k, x, number) => k.mul(x, number("by")));
