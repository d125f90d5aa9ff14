import { binary } from "./shared/binary.ts";
import type { Kernel } from "./shared/kernel.ts";

export const sub: Kernel = binary(
  "sub",
  (k, a, b) => k.sub(a, b),
  (k, a, b) => k.sub(a, b),
);
