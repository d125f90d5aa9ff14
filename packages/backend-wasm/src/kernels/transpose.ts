import { elementAt } from "@centella/core/backend";
import type { Kernel } from "../kernel.ts";
import { axesOf, blockCopy, stridesOf } from "./shared/copies.ts";

export const transpose: Kernel<"transpose"> = {
  build(context, [x], { axes }, y) {
    const rank = y.spec.shape.length;
    const copy = blockCopy(context, y.spec.dtype, rank);
    const order = axes?.map((axis) => (axis < 0 ? axis + rank : axis)) ?? Array.from({ length: rank }, (_, i) => rank - 1 - i);
    return (run) => {
      const shape = run.shape(y);
      const strides = stridesOf(run.shape(x));
      const from = order.map((axis) => elementAt(strides, axis));
      return copy(run.address(x), run.address(y), { axes: axesOf(shape, from, stridesOf(shape)), from: 0, to: 0 });
    };
  },
};
