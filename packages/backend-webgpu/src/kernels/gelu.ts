import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";
import { math } from "./shared/math.ts";

export const gelu: KernelDefinition = unary({
  expression: `0.5 * x * (1.0 + tanhOf(${Math.sqrt(2 / Math.PI)} * (x + 0.044715 * x * x * x)))`,
  declarations: [math],
});
