import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";
import { erfGelu } from "./shared/functions.ts";

export const geluErf: KernelDefinition = unary({ expression: "geluOf(x)", declarations: [erfGelu] });
