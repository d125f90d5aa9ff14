import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const ceil: Kernel = unary("ceil", (k, x) => k.ceil(x));
