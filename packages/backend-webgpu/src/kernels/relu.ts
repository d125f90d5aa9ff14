import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";

/** By the sign bit: devices that flush denormals to zero do not find them below it. */
export const relu: KernelDefinition = unary({ expression: "select(x, 0.0, bitcast<u32>(x) > 0x80000000u)" });
