import type { GpuKernelOf } from "../kernel.ts";
import { scan } from "../rows/scan.ts";

export const cumprod: GpuKernelOf<"cumprod"> = scan(1, (k, a, b) => k.mul(a, b));
