import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";

export const ceil: KernelDefinition = unary({ expression: "ceil(x)" });
