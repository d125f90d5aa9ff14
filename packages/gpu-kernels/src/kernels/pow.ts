import type { GpuKernelOf } from "../kernel.ts";
import { elementwise } from "../shared/elementwise.ts";
import { ieeePower } from "../shared/power.ts";

export const pow: GpuKernelOf<"pow"> = elementwise((k, [x], number) => ieeePower(k, x, number("exponent")));
