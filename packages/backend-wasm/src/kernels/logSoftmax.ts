import type { Kernel } from "../kernel.ts";
import { softmaxKernel } from "./shared/softmax.ts";

export const logSoftmax: Kernel<"logSoftmax"> = softmaxKernel("logSoftmax");
