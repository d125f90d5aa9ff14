import type { GpuKernelOf } from "../kernel.ts";
import { scan } from "../rows/scan.ts";

export const cumsum: GpuKernelOf<"cumsum"> = scan(0, (k, a, b) => k.add(a, b));
