import { f32x4 } from "../emit/index.ts";
import type { Kernel, ParamsOf } from "../kernel.ts";
import { folds } from "./shared/fold.ts";
import { reductionKernel } from "./shared/reduction.ts";

export const normL1: Kernel<ParamsOf<"normL1">> = reductionKernel("normL1", {
  fold: folds.sum,
  inBlocks: true,
  map: (_f, x) => f32x4.abs(x),
});
