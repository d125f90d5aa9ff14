import type { GpuKernelOf } from "../kernel.ts";
import { argExtreme } from "../rows/extreme.ts";
import { orderKey } from "../shared/math.ts";

/** Uses inverted order keys; NaN counts as the smallest. */
export const argmin: GpuKernelOf<"argmin"> = argExtreme((k, x) =>
  k.select(k.isNaN(x), k.constant("u32", 0xffffffff), k.xor(orderKey(k, x), 0xffffffff)),
);
