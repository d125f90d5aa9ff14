import type { GpuKernelOf } from "../kernel.ts";
import { argExtreme } from "../rows/extreme.ts";
import { orderKey } from "../shared/math.ts";

/** NaN counts as the largest. */
export const argmax: GpuKernelOf<"argmax"> = argExtreme(orderKey);
