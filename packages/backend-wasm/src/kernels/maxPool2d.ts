import type { Kernel, ParamsOf } from "../kernel.ts";
import { poolKernel } from "./shared/pool.ts";

export const maxPool2d: Kernel<ParamsOf<"maxPool2d">> = poolKernel("maxPool2d");
