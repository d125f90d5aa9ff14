import { f32x4, v128 } from "../emit/index.ts";
import type { Kernel, ParamsOf } from "../kernel.ts";
import { folds, orNaN } from "./shared/fold.ts";
import { reductionKernel } from "./shared/reduction.ts";

export const normLinf: Kernel<ParamsOf<"normLinf">> = reductionKernel("normLinf", {
  fold: { ...folds.max, start: () => [v128.zero(), v128.zero()], none: v128.zero },
  map: (_f, x) => f32x4.abs(x),
  finish: orNaN,
});
