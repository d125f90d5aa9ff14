import type { GpuKernel } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { sinCos } from "../shared/math.ts";

export const cos: GpuKernel = unary((k, x) => sinCos(k, x).cos);
