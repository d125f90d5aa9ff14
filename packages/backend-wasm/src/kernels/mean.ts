import { f64x2 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { folds } from "./shared/fold.ts";
import { reductionKernel } from "./shared/reduction.ts";

export const mean: Kernel<"mean"> = reductionKernel("mean", {
  fold: folds.sum,
  inBlocks: true,
  finish: (_f, [sum], count) => f64x2.div(sum, count),
});
