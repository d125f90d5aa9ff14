import type { SoftmaxParams } from "@centella/core/backend";
import type { GpuKernel } from "../kernel.ts";
import { softmaxLike } from "../shared/softmax.ts";

export const softmax: GpuKernel<SoftmaxParams> = softmaxLike((k, shifted, sum) => k.div(k.exp(shifted), sum));
