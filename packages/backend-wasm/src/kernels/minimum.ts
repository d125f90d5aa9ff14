import { f32x4, i32x4 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { binary } from "./shared/binary.ts";

export const minimum: Kernel = binary("minimum", f32x4.min, i32x4.minS);
