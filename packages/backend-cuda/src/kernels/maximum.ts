import { binary } from "./shared/binary.ts";
import type { Kernel } from "./shared/kernel.ts";

export const maximum: Kernel = binary(
  "maximum",
  (k, a, b) => k.max(a, b),
  (k, a, b) => k.max(a, b),
);
