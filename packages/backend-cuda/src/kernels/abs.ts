import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const abs: Kernel = unary("abs", (k, x) => k.abs(x));
