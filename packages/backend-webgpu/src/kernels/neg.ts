import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";

/** On bits: devices that flush denormals to zero keep them. */
export const neg: KernelDefinition = unary({ expression: "bitcast<f32>(bitcast<u32>(x) ^ 0x80000000u)" });
