import type { EluParams } from "@centella/core";
import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";
import { math } from "./shared/math.ts";

export const elu: KernelDefinition<EluParams> = unary({
  expression: "select(x, p.alpha * expMinusOne(x), x < 0.0)",
  declarations: [math],
  parameters: ["alpha"],
});
