import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";
import { edges } from "./shared/functions.ts";

export const log: KernelDefinition = unary({ expression: "logOf(x)", declarations: [edges] });
