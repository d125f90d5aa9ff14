import { exp as exponential } from "../ptx/math.ts";
import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const exp: Kernel = unary("exp", exponential);
