import { f32x4 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { unary } from "./shared/unary.ts";

export const ceil: Kernel = unary("ceil", [], (_f, _target, x) => f32x4.ceil(x));
