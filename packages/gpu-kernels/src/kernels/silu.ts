import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { logistic } from "../shared/math.ts";

export const silu: GpuKernelOf<"silu"> = unary((k, x) => k.mul(x, logistic(k, x)));
