import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";

export const floor: KernelDefinition = unary({ expression: "floor(x)" });
