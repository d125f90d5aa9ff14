import type { GpuKernelOf } from "../kernel.ts";
import { binary } from "../shared/elementwise.ts";

export const sub: GpuKernelOf<"sub"> = binary(
  (k, a, b) => k.sub(a, b),
  (k, a, b) => k.sub(a, b),
);
