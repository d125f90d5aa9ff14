import type { GpuKernelOf } from "../kernel.ts";
import { binary } from "../shared/elementwise.ts";

export const add: GpuKernelOf<"add"> = binary(
  (k, a, b) => k.add(a, b),
  (k, a, b) => k.add(a, b),
);
