import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const sqrt: Kernel = unary("sqrt", (k, x) => k.sqrt(x));
