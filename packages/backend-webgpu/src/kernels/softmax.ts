import type { SoftmaxParams } from "@centella/core";
import type { KernelDefinition } from "../kernel.ts";
import { softmaxLike } from "./shared/softmax.ts";

export const softmax: KernelDefinition<SoftmaxParams> = softmaxLike("softmax");
