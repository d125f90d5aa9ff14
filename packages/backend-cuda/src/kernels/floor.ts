import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const floor: Kernel = unary("floor", (k, x) => k.floor(x));
