import { sinCos } from "../ptx/math.ts";
import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const cos: Kernel = unary("cos", (k, x) => k.convert("f32", sinCos(k, k.convert("f64", x)).cos));
