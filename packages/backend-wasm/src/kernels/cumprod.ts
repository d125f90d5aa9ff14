import type { Kernel } from "../kernel.ts";
import { scanKernel } from "./shared/scan.ts";

export const cumprod: Kernel<"cumprod"> = scanKernel("cumprod");
