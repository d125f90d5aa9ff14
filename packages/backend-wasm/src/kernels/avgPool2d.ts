import type { Kernel } from "../kernel.ts";
import { poolKernel } from "./shared/pool.ts";

export const avgPool2d: Kernel<"avgPool2d"> = poolKernel("avgPool2d");
