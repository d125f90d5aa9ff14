import type { GpuKernelOf } from "../kernel.ts";
import { truth } from "../shared/truth.ts";

export const any: GpuKernelOf<"any"> = truth("any");
