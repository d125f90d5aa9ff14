import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";
import { math } from "./shared/math.ts";

export const silu: KernelDefinition = unary({ expression: "x * logistic(x)", declarations: [math] });
