import type { GpuKernelOf } from "../kernel.ts";
import { reduction } from "../shared/reduction.ts";

export const sum: GpuKernelOf<"sum"> = reduction({ initial: 0, combine: (k, a, b) => k.add(a, b) });
