import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const log10: Kernel = unary("log10", (k, x) => k.mul(k.log2(x), Math.log10(2)));
