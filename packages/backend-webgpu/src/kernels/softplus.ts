import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";
import { softplusFunction } from "./shared/functions.ts";

export const softplus: KernelDefinition = unary({ expression: "softplusOf(x)", declarations: [softplusFunction] });
