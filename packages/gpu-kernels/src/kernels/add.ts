import type { GpuKernel } from "../kernel.ts";
import { binary } from "../shared/elementwise.ts";

export const add: GpuKernel = binary(
  (k, a, b) => k.add(a, b),
  (k, a, b) => k.add(a, b),
);
