import type { Kernel, ParamsOf } from "../kernel.ts";
import { folds } from "./shared/fold.ts";
import { reductionKernel } from "./shared/reduction.ts";

export const any: Kernel<ParamsOf<"any">> = reductionKernel("any", { fold: folds.any }, "bool");
