import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";
import { edges } from "./shared/functions.ts";

export const cosh: KernelDefinition = unary({ expression: "0.5 * expOf(abs(x)) + 0.5 / expOf(abs(x))", declarations: [edges] });
