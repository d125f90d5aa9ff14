import { f64x2, v128 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { doubleSplat } from "../math/double.ts";
import { folds } from "./shared/fold.ts";
import { reductionKernel } from "./shared/reduction.ts";

export const sumKahan: Kernel<"sumKahan"> = reductionKernel("sumKahan", {
  fold: folds.kahan,
  finish(f, [sum, lost]) {
    // Once the sum is infinite or NaN, the compensation is NaN.
    const hasBound = f64x2.lt(f64x2.abs(sum), doubleSplat(f, Number.POSITIVE_INFINITY));
    return f64x2.add(sum, v128.and(lost, hasBound));
  },
});
