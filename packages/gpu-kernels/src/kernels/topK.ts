import type { TopKParams } from "@centella/core/backend";
import type { GpuKernel } from "../kernel.ts";
import { orderSteps } from "../shared/sorting.ts";

export const topK: GpuKernel<TopKParams> = {
  steps: (call, { axis, largest }) => orderSteps(call, { axis, descending: largest, give: "values" }),
};
