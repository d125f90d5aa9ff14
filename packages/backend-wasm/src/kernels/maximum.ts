import { f32x4, i32x4 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { binary } from "./shared/binary.ts";

export const maximum: Kernel = binary("maximum", f32x4.max, i32x4.maxS);
