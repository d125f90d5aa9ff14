import { binary } from "./shared/binary.ts";
import type { Kernel } from "./shared/kernel.ts";

export const copysign: Kernel = binary("copysign", (k, a, b) =>
  k.bitcast("f32", k.or(k.and(k.bitcast("u32", a), 0x7fffffff), k.and(k.bitcast("u32", b), 0x80000000))),
);
