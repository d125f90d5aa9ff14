import type { GpuKernelOf } from "../kernel.ts";
import { orderSteps } from "../shared/sorting.ts";

export const sort: GpuKernelOf<"sort"> = {
  steps: (call, { axis, descending }) => orderSteps(call, { axis, descending, give: "values" }),
};
