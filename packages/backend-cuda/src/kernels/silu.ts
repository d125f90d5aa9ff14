import { sigmoid } from "../ptx/math.ts";
import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const silu: Kernel = unary("silu", (k, x) => k.mul(x, sigmoid(k, x)));
