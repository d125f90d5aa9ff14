import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";

/** On bits: devices that flush denormals to zero still see their sign. */
export const sign: KernelDefinition = unary({
  expression: "select(bitcast<f32>((bitcast<u32>(x) & 0x80000000u) | 0x3f800000u), x, (bitcast<u32>(x) & 0x7fffffffu) == 0u)",
});
