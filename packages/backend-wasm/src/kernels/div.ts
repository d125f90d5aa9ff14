import { f32x4 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { binary } from "./shared/binary.ts";

export const div: Kernel = binary("div", f32x4.div);
