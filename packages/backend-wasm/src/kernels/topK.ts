import type { Kernel } from "../kernel.ts";
import { orderTask } from "./shared/order.ts";

export const topK: Kernel<"topK"> = {
  build: (context, [x], { axis, largest }, y) => orderTask(context, x, y, { axis, descending: largest, give: "values" }),
};
