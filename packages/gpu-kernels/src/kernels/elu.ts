import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { expm1, isNegative } from "../shared/math.ts";

export const elu: GpuKernelOf<"elu"> = unary((k, x, number) => k.select(isNegative(k, x), k.mul(expm1(k, x), number("alpha")), x));
