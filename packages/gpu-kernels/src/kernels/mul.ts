import type { GpuKernel } from "../kernel.ts";
import { binary } from "../shared/elementwise.ts";

export const mul: GpuKernel = binary(
  (k, a, b) => k.mul(a, b),
  (k, a, b) => k.mul(a, b),
);
