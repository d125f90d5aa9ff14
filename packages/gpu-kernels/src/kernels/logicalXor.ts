import type { GpuKernelOf } from "../kernel.ts";
import { logical } from "../shared/relation.ts";

export const logicalXor: GpuKernelOf<"logicalXor"> = logical((k, [a, b]) => k.both(k.either(a, b), k.not(k.both(a, b))));
