import { f32x4, i32x4 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { binary } from "./shared/binary.ts";

export const sub: Kernel = binary("sub", f32x4.sub, i32x4.sub);
