import type { GpuKernelOf } from "../kernel.ts";
import { reduction } from "../rows/reduction.ts";

export const sum: GpuKernelOf<"sum"> = reduction({ initial: 0, combine: (k, a, b) => k.add(a, b) });
