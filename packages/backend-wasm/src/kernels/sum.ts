import type { Kernel, ParamsOf } from "../kernel.ts";
import { sumKernel } from "./shared/sum.ts";

export const sum: Kernel<ParamsOf<"sum">> = sumKernel(false);
