import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";
import { math } from "./shared/math.ts";

export const sigmoid: KernelDefinition = unary({ expression: "logistic(x)", declarations: [math] });
