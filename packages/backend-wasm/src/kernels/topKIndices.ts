import type { Kernel } from "../kernel.ts";
import { orderTask } from "./shared/order.ts";

export const topKIndices: Kernel<"topKIndices"> = {
  build: (context, [x], { axis, largest }, y) => orderTask(context, x, y, { axis, descending: largest, give: "indices" }),
};
