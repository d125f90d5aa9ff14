import type { GpuKernelOf } from "../kernel.ts";
import { softmaxLike } from "../rows/softmax.ts";

export const softmax: GpuKernelOf<"softmax"> = softmaxLike((k, { exponential }, sum) =>
  k.mul(exponential(), k.div(k.constant("f32", 1), sum)),
);
