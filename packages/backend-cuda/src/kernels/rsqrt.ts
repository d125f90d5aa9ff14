import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const rsqrt: Kernel = unary("rsqrt", (k, x) => k.div(k.constant("f32", 1), k.sqrt(x)));
