import type { ScanParams } from "@centella/core/backend";
import type { GpuKernel } from "../kernel.ts";
import { scan } from "../shared/scan.ts";

export const cumsum: GpuKernel<ScanParams> = scan(0, (k, a, b) => k.add(a, b));
