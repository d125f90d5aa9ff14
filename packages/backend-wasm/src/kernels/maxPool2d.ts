import type { Kernel } from "../kernel.ts";
import { poolKernel } from "./shared/pool.ts";

export const maxPool2d: Kernel<"maxPool2d"> = poolKernel("maxPool2d");
