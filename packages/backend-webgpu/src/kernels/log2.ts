import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";
import { edges } from "./shared/functions.ts";

export const log2: KernelDefinition = unary({ expression: `logOf(x) * ${Math.LOG2E}`, declarations: [edges] });
