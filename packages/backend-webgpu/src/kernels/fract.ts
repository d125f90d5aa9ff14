import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";

export const fract: KernelDefinition = unary({ expression: "x - floor(x)" });
