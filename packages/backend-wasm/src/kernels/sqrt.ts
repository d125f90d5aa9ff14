import { f32x4 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { unary } from "./shared/unary.ts";

export const sqrt: Kernel = unary("sqrt", [], (_f, _target, x) => f32x4.sqrt(x));
