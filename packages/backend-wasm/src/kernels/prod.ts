import type { Kernel, ParamsOf } from "../kernel.ts";
import { folds } from "./shared/fold.ts";
import { reductionKernel } from "./shared/reduction.ts";

export const prod: Kernel<ParamsOf<"prod">> = reductionKernel("prod", { fold: folds.prod });
