import type { Kernel, ParamsOf } from "../kernel.ts";
import { sumKernel } from "./shared/sum.ts";

export const mean: Kernel<ParamsOf<"mean">> = sumKernel(true);
