import { f32x4, i32x4 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { binary } from "./shared/binary.ts";

export const add: Kernel = binary("add", f32x4.add, i32x4.add);
