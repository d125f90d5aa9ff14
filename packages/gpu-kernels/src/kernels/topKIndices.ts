import type { GpuKernelOf } from "../kernel.ts";
import { orderSteps } from "../shared/sorting.ts";

export const topKIndices: GpuKernelOf<"topKIndices"> = {
  steps: (call, { axis, largest }) => orderSteps(call, { axis, descending: largest, give: "indices" }),
};
