import { log as logarithm } from "../ptx/math.ts";
import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const log: Kernel = unary("log", logarithm);
