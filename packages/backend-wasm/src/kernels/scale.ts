import { f32x4 } from "../emit/index.ts";
import type { Kernel, ParamsOf } from "../kernel.ts";
import { unary } from "./shared/unary.ts";

export const scale: Kernel<ParamsOf<"scale">> = unary("scale", ["by"], (_f, _target, x, [by]) => f32x4.mul(x, by!));
