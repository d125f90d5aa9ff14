import type { GpuKernel } from "../kernel.ts";
import { binary } from "../shared/elementwise.ts";
import { withSignOf } from "../shared/math.ts";

export const copysign: GpuKernel = binary(withSignOf);
