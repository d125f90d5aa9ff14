import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";

export const reciprocal: KernelDefinition = unary({ expression: "1.0 / x" });
