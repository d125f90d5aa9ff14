import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";

export const hardswish: KernelDefinition = unary({ expression: "select(select(x * (x + 3.0) / 6.0, x, x >= 3.0), 0.0, x <= -3.0)" });
