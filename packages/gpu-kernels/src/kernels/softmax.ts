import type { GpuKernelOf } from "../kernel.ts";
import { softmaxLike } from "../shared/softmax.ts";

export const softmax: GpuKernelOf<"softmax"> = softmaxLike((k, shifted, sum) => k.div(k.exp(shifted), sum));
