import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { softplus, tanh } from "../shared/math.ts";

export const mish: GpuKernelOf<"mish"> = unary((k, x) => k.mul(x, tanh(k, softplus(k, x))));
