import type { Kernel, ParamsOf } from "../kernel.ts";
import { folds, orNaN } from "./shared/fold.ts";
import { reductionKernel } from "./shared/reduction.ts";

export const min: Kernel<ParamsOf<"min">> = reductionKernel("min", { fold: folds.min, finish: orNaN });
