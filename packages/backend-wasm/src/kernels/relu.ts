import { f32x4, v128 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { unary } from "./shared/unary.ts";

export const relu: Kernel = unary("relu", [], (_f, _target, x) => f32x4.pmax(x, v128.zero()));
