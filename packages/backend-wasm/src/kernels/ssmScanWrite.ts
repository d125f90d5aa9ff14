import type { Kernel, ParamsOf } from "../kernel.ts";
import { hostKernel } from "./shared/hostKernel.ts";

export const ssmScanWrite: Kernel<ParamsOf<"ssmScanWrite">> = hostKernel("ssmScanWrite");
