import type { Kernel, ParamsOf } from "../kernel.ts";
import { hostKernel } from "./shared/hostKernel.ts";

export const ssmConv: Kernel<ParamsOf<"ssmConv">> = hostKernel("ssmConv");
