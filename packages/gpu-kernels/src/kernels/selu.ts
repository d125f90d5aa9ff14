import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { expm1, isNegative } from "../shared/math.ts";

const alpha = 1.6732632423543772;
const lambda = 1.0507009873554805;

export const selu: GpuKernelOf<"selu"> = unary((k, x) => k.select(isNegative(k, x), k.mul(expm1(k, x), lambda * alpha), k.mul(x, lambda)));
