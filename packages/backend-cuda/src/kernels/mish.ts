import { softplus, tanh } from "../ptx/math.ts";
import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const mish: Kernel = unary("mish", (k, x) => k.mul(x, tanh(k, softplus(k, x))));
