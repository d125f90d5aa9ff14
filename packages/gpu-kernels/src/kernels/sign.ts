import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { withSignOf } from "../shared/math.ts";

/** Tests bits, so that devices that flush denormals still see their sign. */
export const sign: GpuKernelOf<"sign"> = unary((k, x) =>
  k.select(k.compare("eq", k.bitcast("u32", k.abs(x)), 0), x, withSignOf(k, k.constant("f32", 1), x)),
);
