import { softplus as logOnePlusExp } from "../ptx/math.ts";
import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const softplus: Kernel = unary("softplus", logOnePlusExp);
