import type { Kernel, ParamsOf } from "../kernel.ts";
import { scanKernel } from "./shared/scan.ts";

export const cumsum: Kernel<ParamsOf<"cumsum">> = scanKernel("cumsum");
