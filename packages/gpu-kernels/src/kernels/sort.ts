import type { SortParams } from "@centella/core/backend";
import type { GpuKernel } from "../kernel.ts";
import { orderSteps } from "../shared/sorting.ts";

export const sort: GpuKernel<SortParams> = {
  steps: (call, { axis, descending }) => orderSteps(call, { axis, descending, give: "values" }),
};
