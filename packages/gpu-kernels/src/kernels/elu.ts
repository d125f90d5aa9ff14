import type { EluParams } from "@centella/core/backend";
import type { GpuKernel } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { expm1, isNegative } from "../shared/math.ts";

export const elu: GpuKernel<EluParams> = unary((k, x, number) => k.select(isNegative(k, x), k.mul(expm1(k, x), number("alpha")), x));
