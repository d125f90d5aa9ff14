import type { Kernel, ParamsOf } from "../kernel.ts";
import { orderTask } from "./shared/order.ts";

export const topKIndices: Kernel<ParamsOf<"topKIndices">> = {
  build: (context, [x], { axis, largest }, y) => orderTask(context, x!, y, { axis, descending: largest, give: "indices" }),
};
