import type { Kernel } from "../kernel.ts";
import { softplus as softplusVector } from "../math/softplus.ts";
import { unary } from "./shared/unary.ts";

export const softplus: Kernel = unary("softplus", [], softplusVector);
