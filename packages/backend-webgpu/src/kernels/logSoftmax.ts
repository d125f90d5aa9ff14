import type { SoftmaxParams } from "@centella/core";
import type { KernelDefinition } from "../kernel.ts";
import { softmaxLike } from "./shared/softmax.ts";

export const logSoftmax: KernelDefinition<SoftmaxParams> = softmaxLike("logSoftmax");
