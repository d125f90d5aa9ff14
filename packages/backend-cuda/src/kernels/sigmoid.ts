import { sigmoid as logistic } from "../ptx/math.ts";
import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const sigmoid: Kernel = unary("sigmoid", logistic);
