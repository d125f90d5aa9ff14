import type { ArgmaxParams } from "@centella/core/backend";
import type { GpuKernel } from "../kernel.ts";
import { argExtreme } from "../shared/extreme.ts";
import { orderKey } from "../shared/math.ts";

/** A NaN counts as the largest. */
export const argmax: GpuKernel<ArgmaxParams> = argExtreme(orderKey);
