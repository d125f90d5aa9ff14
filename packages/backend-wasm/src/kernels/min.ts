import type { Kernel } from "../kernel.ts";
import { folds, orNaN } from "./shared/fold.ts";
import { reductionKernel } from "./shared/reduction.ts";

export const min: Kernel<"min"> = reductionKernel("min", { fold: folds.min, finish: orNaN });
