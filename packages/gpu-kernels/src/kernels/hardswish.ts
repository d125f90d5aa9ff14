import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { bitsOf } from "../shared/values.ts";

/** As unsigned numbers, bits of positive floats keep the floats' order; those of negative floats reverse it and are above them. */
export const hardswish: GpuKernelOf<"hardswish"> = unary((k, x) => {
  const middle = k.div(k.mul(x, k.add(x, 3)), 6);
  const upper = k.select(k.compare("ge", k.bitcast("i32", x), bitsOf("f32", 3)), x, middle);
  return k.select(k.compare("ge", k.bitcast("u32", x), bitsOf("f32", -3)), k.constant("f32", 0), upper);
});
