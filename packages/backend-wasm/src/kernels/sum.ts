import type { Kernel } from "../kernel.ts";
import { folds } from "./shared/fold.ts";
import { reductionKernel } from "./shared/reduction.ts";

export const sum: Kernel<"sum"> = reductionKernel("sum", { fold: folds.sum, inBlocks: true });
