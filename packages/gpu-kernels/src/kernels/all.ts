import type { GpuKernelOf } from "../kernel.ts";
import { truth } from "../shared/truth.ts";

export const all: GpuKernelOf<"all"> = truth("all");
