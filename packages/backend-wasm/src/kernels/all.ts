import type { Kernel, ParamsOf } from "../kernel.ts";
import { folds } from "./shared/fold.ts";
import { reductionKernel } from "./shared/reduction.ts";

export const all: Kernel<ParamsOf<"all">> = reductionKernel("all", { fold: folds.all }, "bool");
