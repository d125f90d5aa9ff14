import type { GpuKernelOf } from "../kernel.ts";
import { binary } from "../shared/elementwise.ts";

export const mul: GpuKernelOf<"mul"> = binary(
  (k, a, b) => k.mul(a, b),
  (k, a, b) => k.mul(a, b),
);
