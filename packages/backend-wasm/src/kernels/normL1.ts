import type { Kernel } from "../kernel.ts";
import { folds } from "./shared/fold.ts";
import { magnitudes, reductionKernel } from "./shared/reduction.ts";

export const normL1: Kernel<"normL1"> = reductionKernel("normL1", {
  fold: folds.sum,
  inBlocks: true,
  map: magnitudes,
});
