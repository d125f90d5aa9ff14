import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const round: Kernel = unary("round", (k, x) => k.round(x));
