import { f32x4 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { log } from "../math/log.ts";
import { unary } from "./shared/unary.ts";

export const log2: Kernel = unary("log2", [], (f, target, x) => f32x4.mul(log(f, target, x), f.splat(Math.LOG2E)));
