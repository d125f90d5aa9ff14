import type { Kernel, ParamsOf } from "../kernel.ts";
import { folds } from "./shared/fold.ts";
import { reductionKernel } from "./shared/reduction.ts";

export const min: Kernel<ParamsOf<"min">> = reductionKernel("min", { fold: folds.min });
