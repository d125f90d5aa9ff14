import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { sinCos } from "../shared/math.ts";

export const sin: GpuKernelOf<"sin"> = unary((k, x) => sinCos(k, x).sin);
