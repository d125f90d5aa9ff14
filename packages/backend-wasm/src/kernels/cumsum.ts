import type { Kernel } from "../kernel.ts";
import { scanKernel } from "./shared/scan.ts";

export const cumsum: Kernel<"cumsum"> = scanKernel("cumsum");
