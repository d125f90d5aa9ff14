import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { isNegative } from "../shared/math.ts";

export const leakyRelu: GpuKernelOf<"leakyRelu"> = unary((k, x, number) => k.select(isNegative(k, x), k.mul(x, number("slope")), x));
