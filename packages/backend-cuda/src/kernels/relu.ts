import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const relu: Kernel = unary("relu", (k, x) => k.select(k.compare("lt", x, 0), k.constant("f32", 0), x));
