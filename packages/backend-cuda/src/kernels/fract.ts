import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const fract: Kernel = unary("fract", (k, x) => k.sub(x, k.floor(x)));
