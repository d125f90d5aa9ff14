import type { SortParams } from "@centella/core/backend";
import type { GpuKernel } from "../kernel.ts";
import { orderSteps } from "../shared/sorting.ts";

export const argsort: GpuKernel<SortParams> = {
  steps: (call, { axis, descending }) => orderSteps(call, { axis, descending, give: "indices" }),
};
