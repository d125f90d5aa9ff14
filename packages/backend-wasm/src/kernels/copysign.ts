import { i32, i32x4, v128 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { binary } from "./shared/binary.ts";

export const copysign: Kernel = binary("copysign", (a, b) => v128.bitselect(i32x4.splat(i32.const(0x7fffffff)), a, b));
