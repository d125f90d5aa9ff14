import type { GpuKernel } from "../kernel.ts";
import { binary } from "../shared/elementwise.ts";

export const div: GpuKernel = binary((k, a, b) => k.div(a, b));
