import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";
import { softplusFunction } from "./shared/functions.ts";
import { math } from "./shared/math.ts";

export const mish: KernelDefinition = unary({ expression: "x * tanhOf(softplusOf(x))", declarations: [math, softplusFunction] });
