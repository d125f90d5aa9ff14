import type { GpuKernelOf } from "../kernel.ts";
import { softmaxLike } from "../rows/softmax.ts";

export const logSoftmax: GpuKernelOf<"logSoftmax"> = softmaxLike((k, { shifted }, sum) => k.sub(shifted, k.log(sum)));
