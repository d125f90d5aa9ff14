import type { GpuKernelOf } from "../kernel.ts";
import { binary } from "../shared/elementwise.ts";

export const div: GpuKernelOf<"div"> = binary((k, a, b) => k.div(a, b));
