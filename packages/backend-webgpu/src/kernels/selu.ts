import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";
import { math } from "./shared/math.ts";

const alpha = 1.6732632423543772;
const lambda = 1.0507009873554805;

export const selu: KernelDefinition = unary({
  expression: `select(${lambda * alpha} * expMinusOne(x), ${lambda} * x, x > 0.0)`,
  declarations: [math],
});
