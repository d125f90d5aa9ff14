import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";
import { edges } from "./shared/functions.ts";

export const exp: KernelDefinition = unary({ expression: "expOf(x)", declarations: [edges] });
