import { ArgumentError } from "@centella/core";
import { elementAt, resolveAxis } from "@centella/core/backend";
import type { Kernel } from "../kernel.ts";
import { axesOf, blockCopy, stridesOf } from "./shared/copies.ts";

export const slice: Kernel<"slice"> = {
  build(context, [x], { axis: given, start, step }, y) {
    const rank = y.spec.shape.length;
    const axis = resolveAxis("slice", given, rank);
    const copy = blockCopy(context, y.spec.dtype, rank);
    return (run) => {
      const [source, shape] = [run.shape(x), run.shape(y)];
      const strides = stridesOf(source);
      const extent = elementAt(source, axis);
      const first = start < 0 ? start + extent : start;
      const end = first + elementAt(shape, axis);
      if (end > extent) throw new ArgumentError("slice", `an end up to ${extent} in this run`, String(end));
      const from = strides.map((stride, i) => (i === axis ? stride * step : stride));
      return copy(run.address(x), run.address(y), {
        axes: axesOf(shape, from, stridesOf(shape)),
        from: first * elementAt(strides, axis),
        to: 0,
      });
    };
  },
};
