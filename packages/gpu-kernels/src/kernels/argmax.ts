import type { GpuKernelOf } from "../kernel.ts";
import { argExtreme } from "../shared/extreme.ts";
import { orderKey } from "../shared/math.ts";

/** NaN counts as the largest. */
export const argmax: GpuKernelOf<"argmax"> = argExtreme(orderKey);
