import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";

export const round: KernelDefinition = unary({ expression: "round(x)" });
