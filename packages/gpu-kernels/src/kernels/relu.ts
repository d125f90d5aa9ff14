import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { isNegative } from "../shared/math.ts";

export const relu: GpuKernelOf<"relu"> = unary((k, x) => k.select(isNegative(k, x), k.constant("f32", 0), x));
