import type { Kernel } from "../kernel.ts";
import { exp as expVector } from "../math/exp.ts";
import { unary } from "./shared/unary.ts";

export const exp: Kernel = unary("exp", [], expVector);
