import type { GpuKernelOf } from "../kernel.ts";
import { binary } from "../shared/elementwise.ts";

export const maximum: GpuKernelOf<"maximum"> = binary(
  (k, a, b) => k.maximum(a, b),
  (k, a, b) => k.max(a, b),
);
