import { binary } from "./shared/binary.ts";
import type { Kernel } from "./shared/kernel.ts";

export const minimum: Kernel = binary(
  "minimum",
  (k, a, b) => k.min(a, b),
  (k, a, b) => k.min(a, b),
);
