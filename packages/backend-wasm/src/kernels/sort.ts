import type { Kernel } from "../kernel.ts";
import { orderTask } from "./shared/order.ts";

export const sort: Kernel<"sort"> = {
  build: (context, [x], { axis, descending }, y) => orderTask(context, x, y, { axis, descending, give: "values" }),
};
