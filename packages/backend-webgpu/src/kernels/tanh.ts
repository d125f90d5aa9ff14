import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";
import { math } from "./shared/math.ts";

export const tanh: KernelDefinition = unary({ expression: "tanhOf(x)", declarations: [math] });
