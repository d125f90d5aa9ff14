import type { GpuKernelOf } from "../kernel.ts";
import { reduction } from "../rows/reduction.ts";

export const normL1: GpuKernelOf<"normL1"> = reduction({ initial: 0, map: (k, x) => k.abs(x), combine: (k, a, b) => k.add(a, b) });
