import type { LeakyReluParams } from "@centella/core";
import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";

export const leakyRelu: KernelDefinition<LeakyReluParams> = unary({ expression: "select(x, x * p.slope, x < 0.0)", parameters: ["slope"] });
