import type { Kernel, ParamsOf } from "../kernel.ts";
import { softmaxKernel } from "./shared/softmax.ts";

export const softmax: Kernel<ParamsOf<"softmax">> = softmaxKernel("softmax");
