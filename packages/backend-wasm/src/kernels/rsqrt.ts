import { f32x4 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { unary } from "./shared/unary.ts";

export const rsqrt: Kernel = unary("rsqrt", [], (f, _target, x) => f32x4.div(f.splat(1), f32x4.sqrt(x)));
