import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const trunc: Kernel = unary("trunc", (k, x) => k.trunc(x));
