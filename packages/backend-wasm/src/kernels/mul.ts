import { f32x4, i32x4 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { binary } from "./shared/binary.ts";

export const mul: Kernel = binary("mul", f32x4.mul, i32x4.mul);
