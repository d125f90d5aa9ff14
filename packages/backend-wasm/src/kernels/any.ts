import type { Kernel } from "../kernel.ts";
import { folds } from "./shared/fold.ts";
import { reductionKernel } from "./shared/reduction.ts";

export const any: Kernel<"any"> = reductionKernel("any", { fold: folds.any }, "bool");
