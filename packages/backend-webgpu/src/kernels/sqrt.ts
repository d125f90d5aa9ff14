import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";
import { edges } from "./shared/functions.ts";

export const sqrt: KernelDefinition = unary({ expression: "rootOf(x)", declarations: [edges] });
