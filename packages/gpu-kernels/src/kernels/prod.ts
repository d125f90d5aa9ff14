import type { GpuKernelOf } from "../kernel.ts";
import { reduction } from "../rows/reduction.ts";

export const prod: GpuKernelOf<"prod"> = reduction({ initial: 1, combine: (k, a, b) => k.mul(a, b) });
