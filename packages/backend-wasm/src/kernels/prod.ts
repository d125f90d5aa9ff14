import type { Kernel } from "../kernel.ts";
import { folds } from "./shared/fold.ts";
import { reductionKernel } from "./shared/reduction.ts";

export const prod: Kernel<"prod"> = reductionKernel("prod", { fold: folds.prod });
