import type { Kernel, ParamsOf } from "../kernel.ts";
import { softmaxKernel } from "./shared/softmax.ts";

export const logSoftmax: Kernel<ParamsOf<"logSoftmax">> = softmaxKernel("logSoftmax");
