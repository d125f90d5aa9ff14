import type { Kernel, ParamsOf } from "../kernel.ts";
import { hostKernel } from "./shared/hostKernel.ts";

export const moeWeights: Kernel<ParamsOf<"moeWeights">> = hostKernel("moeWeights");
