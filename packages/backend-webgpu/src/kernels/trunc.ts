import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";

export const trunc: KernelDefinition = unary({ expression: "trunc(x)" });
