import type { Kernel, ParamsOf } from "../kernel.ts";
import { scanKernel } from "./shared/scan.ts";

export const cumprod: Kernel<ParamsOf<"cumprod">> = scanKernel("cumprod");
