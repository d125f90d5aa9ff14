import { f64x2 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { folds } from "./shared/fold.ts";
import { reductionKernel } from "./shared/reduction.ts";

/** Squares are computed in f64, so that neither they nor their sum overflow. */
export const normL2: Kernel<"normL2"> = reductionKernel("normL2", {
  fold: { ...folds.sum, step: (f, [sum], x) => f.set(sum, f64x2.add(sum, f64x2.mul(x, x))) },
  finish: (_f, [sum]) => f64x2.sqrt(sum),
});
