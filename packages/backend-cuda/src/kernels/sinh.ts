import { sinh as hyperbolicSine } from "../ptx/math.ts";
import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const sinh: Kernel = unary("sinh", hyperbolicSine);
