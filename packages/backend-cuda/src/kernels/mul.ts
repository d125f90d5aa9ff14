import { binary } from "./shared/binary.ts";
import type { Kernel } from "./shared/kernel.ts";

export const mul: Kernel = binary(
  "mul",
  (k, a, b) => k.mul(a, b),
  (k, a, b) => k.mul(a, b),
);
