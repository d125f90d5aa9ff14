import type { ParamsOf } from "@centella/core";
import { asValue } from "@centella/gpu-kernels";
import type { Kernel } from "./shared/kernel.ts";
import { reduction } from "./shared/reduction.ts";

export const mean: Kernel<ParamsOf<"mean">> = reduction(
  "mean",
  0,
  (k, a, b) => k.add(a, b),
  (k, sum, length) => k.div(sum, k.convert("f32", asValue(k, length))),
);
