import type { GpuKernelOf } from "../kernel.ts";
import { binary } from "../shared/elementwise.ts";

export const minimum: GpuKernelOf<"minimum"> = binary(
  (k, a, b) => k.minimum(a, b),
  (k, a, b) => k.min(a, b),
);
