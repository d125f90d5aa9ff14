import type { GpuKernelOf } from "../kernel.ts";
import { orderSteps } from "../shared/sorting.ts";

export const topK: GpuKernelOf<"topK"> = {
  steps: (call, { axis, largest }) => orderSteps(call, { axis, descending: largest, give: "values" }),
};
