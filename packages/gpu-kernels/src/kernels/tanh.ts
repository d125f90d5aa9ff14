import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { tanh as hyperbolicTangent } from "../shared/math.ts";

export const tanh: GpuKernelOf<"tanh"> = unary(hyperbolicTangent);
