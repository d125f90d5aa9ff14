import type { GpuKernelOf } from "../kernel.ts";
import { binary } from "../shared/elementwise.ts";
import { withSignOf } from "../shared/math.ts";

export const copysign: GpuKernelOf<"copysign"> = binary(withSignOf);
