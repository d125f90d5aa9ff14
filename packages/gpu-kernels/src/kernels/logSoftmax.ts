import type { SoftmaxParams } from "@centella/core/backend";
import type { GpuKernel } from "../kernel.ts";
import { softmaxLike } from "../shared/softmax.ts";

export const logSoftmax: GpuKernel<SoftmaxParams> = softmaxLike((k, shifted, sum) => k.sub(shifted, k.log(sum)));
