import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const log2: Kernel = unary("log2", (k, x) => k.log2(x));
