import type { ParamsOf } from "@centella/core";
import { log } from "../ptx/math.ts";
import type { Kernel } from "./shared/kernel.ts";
import { softmaxRows } from "./shared/softmaxRows.ts";

export const logSoftmax: Kernel<ParamsOf<"logSoftmax">> = softmaxRows("logSoftmax", (k, shifted, sum) => k.sub(shifted, log(k, sum)));
