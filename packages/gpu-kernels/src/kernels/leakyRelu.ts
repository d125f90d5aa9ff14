import type { LeakyReluParams } from "@centella/core/backend";
import type { GpuKernel } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { isNegative } from "../shared/math.ts";

export const leakyRelu: GpuKernel<LeakyReluParams> = unary((k, x, number) => k.select(isNegative(k, x), k.mul(x, number("slope")), x));
