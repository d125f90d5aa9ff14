import type { GpuKernelOf } from "../kernel.ts";
import { elementwise } from "../shared/elementwise.ts";
import { ieeePower } from "../shared/power.ts";

export const power: GpuKernelOf<"power"> = elementwise((k, [a, b]) => ieeePower(k, a, b));
