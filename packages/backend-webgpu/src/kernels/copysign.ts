import type { KernelDefinition } from "../kernel.ts";
import { binaryFunction } from "./shared/elementwise.ts";

export const copysign: KernelDefinition = binaryFunction({
  f32: (a, b) => `bitcast<f32>((bitcast<u32>(${a}) & 0x7fffffffu) | (bitcast<u32>(${b}) & 0x80000000u))`,
});
