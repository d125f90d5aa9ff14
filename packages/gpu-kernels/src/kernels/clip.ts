import type { ClipParams } from "@centella/core/backend";
import type { GpuKernel } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

export const clip: GpuKernel<ClipParams> = unary((k, x, number) => k.minimum(k.maximum(x, number("min")), number("max")));
