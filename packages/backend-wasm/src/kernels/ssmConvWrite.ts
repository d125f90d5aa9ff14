import type { Kernel, ParamsOf } from "../kernel.ts";
import { hostKernel } from "./shared/hostKernel.ts";

export const ssmConvWrite: Kernel<ParamsOf<"ssmConvWrite">> = hostKernel("ssmConvWrite");
