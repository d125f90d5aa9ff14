import { f32x4 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { softplus } from "../math/softplus.ts";
import { tanh } from "../math/tanh.ts";
import { unary } from "./shared/unary.ts";

export const mish: Kernel = unary("mish", [], (f, target, x) => f32x4.mul(x, tanh(f, target, softplus(f, target, x))));
