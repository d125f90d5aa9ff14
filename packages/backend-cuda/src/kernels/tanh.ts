import { tanh as hyperbolicTangent } from "../ptx/math.ts";
import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const tanh: Kernel = unary("tanh", hyperbolicTangent);
