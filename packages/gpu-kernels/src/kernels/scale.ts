import type { ScaleParams } from "@centella/core/backend";
import type { GpuKernel } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const scale: GpuKernel<ScaleParams> = unary((k, x, number) => k.mul(x, number("by")));
