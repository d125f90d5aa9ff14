import { f32x4 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { unary } from "./shared/unary.ts";

export const fract: Kernel = unary("fract", [], (_f, _target, x) => f32x4.sub(x, f32x4.floor(x)));
