import type { Kernel, ParamsOf } from "../kernel.ts";
import { poolKernel } from "./shared/pool.ts";

export const avgPool2d: Kernel<ParamsOf<"avgPool2d">> = poolKernel("avgPool2d");
