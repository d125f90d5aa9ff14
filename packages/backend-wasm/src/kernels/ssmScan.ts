import type { Kernel, ParamsOf } from "../kernel.ts";
import { hostKernel } from "./shared/hostKernel.ts";

export const ssmScan: Kernel<ParamsOf<"ssmScan">> = hostKernel("ssmScan");
