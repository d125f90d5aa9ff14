import { binary } from "./shared/binary.ts";
import type { Kernel } from "./shared/kernel.ts";

export const div: Kernel = binary("div", (k, a, b) => k.div(a, b));
