import type { ScanParams } from "@centella/core/backend";
import type { GpuKernel } from "../kernel.ts";
import { scan } from "../shared/scan.ts";

export const cumprod: GpuKernel<ScanParams> = scan(1, (k, a, b) => k.mul(a, b));
