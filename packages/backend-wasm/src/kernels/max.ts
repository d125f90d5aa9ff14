import type { Kernel } from "../kernel.ts";
import { folds, orNaN } from "./shared/fold.ts";
import { reductionKernel } from "./shared/reduction.ts";

export const max: Kernel<"max"> = reductionKernel("max", { fold: folds.max, finish: orNaN });
