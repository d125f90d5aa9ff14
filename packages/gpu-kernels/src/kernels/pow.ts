import type { PowParams } from "@centella/core/backend";
import type { GpuKernel } from "../kernel.ts";
import { elementwise } from "../shared/elementwise.ts";
import { ieeePower } from "../shared/power.ts";

export const pow: GpuKernel<PowParams> = elementwise((k, [x], number) => ieeePower(k, x!, number("exponent")));
