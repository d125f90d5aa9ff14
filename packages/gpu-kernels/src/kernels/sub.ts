import type { GpuKernel } from "../kernel.ts";
import { binary } from "../shared/elementwise.ts";

export const sub: GpuKernel = binary(
  (k, a, b) => k.sub(a, b),
  (k, a, b) => k.sub(a, b),
);
