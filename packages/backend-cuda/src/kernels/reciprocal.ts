import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const reciprocal: Kernel = unary("reciprocal", (k, x) => k.div(k.constant("f32", 1), x));
