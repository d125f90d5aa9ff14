import type { ParamsOf } from "@centella/core";
import { exp } from "../ptx/math.ts";
import type { Kernel } from "./shared/kernel.ts";
import { softmaxRows } from "./shared/softmaxRows.ts";

export const softmax: Kernel<ParamsOf<"softmax">> = softmaxRows("softmax", (k, shifted, sum) => k.div(exp(k, shifted), sum));
