import { v128 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { folds, orNaN } from "./shared/fold.ts";
import { magnitudes, reductionKernel } from "./shared/reduction.ts";

export const normLinf: Kernel<"normLinf"> = reductionKernel("normLinf", {
  fold: { ...folds.max, start: () => [v128.zero(), v128.zero()], none: v128.zero },
  map: magnitudes,
  finish: orNaN,
});
