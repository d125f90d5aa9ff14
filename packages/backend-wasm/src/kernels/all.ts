import type { Kernel } from "../kernel.ts";
import { folds } from "./shared/fold.ts";
import { reductionKernel } from "./shared/reduction.ts";

export const all: Kernel<"all"> = reductionKernel("all", { fold: folds.all }, "bool");
