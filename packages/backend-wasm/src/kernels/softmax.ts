import type { Kernel } from "../kernel.ts";
import { softmaxKernel } from "./shared/softmax.ts";

export const softmax: Kernel<"softmax"> = softmaxKernel("softmax");
