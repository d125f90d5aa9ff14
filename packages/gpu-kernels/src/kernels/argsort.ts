import type { GpuKernelOf } from "../kernel.ts";
import { orderSteps } from "../shared/sorting.ts";

export const argsort: GpuKernelOf<"argsort"> = {
  steps: (call, { axis, descending }) => orderSteps(call, { axis, descending, give: "indices" }),
};
