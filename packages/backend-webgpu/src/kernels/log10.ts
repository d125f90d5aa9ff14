import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";
import { edges } from "./shared/functions.ts";

export const log10: KernelDefinition = unary({ expression: `logOf(x) * ${Math.LOG10E}`, declarations: [edges] });
