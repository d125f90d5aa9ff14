import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const neg: Kernel = unary("neg", (k, x) => k.neg(x));
