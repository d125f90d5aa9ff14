import { binary } from "./shared/binary.ts";
import type { Kernel } from "./shared/kernel.ts";

export const add: Kernel = binary(
  "add",
  (k, a, b) => k.add(a, b),
  (k, a, b) => k.add(a, b),
);
