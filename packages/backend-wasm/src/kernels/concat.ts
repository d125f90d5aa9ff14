import { elementAt, resolveAxis } from "@centella/core/backend";
import type { Kernel } from "../kernel.ts";
import { axesOf, blockCopy, stridesOf } from "./shared/copies.ts";

export const concat: Kernel<"concat"> = {
  build(context, inputs, { axis: given }, y) {
    const rank = y.spec.shape.length;
    const axis = resolveAxis("concat", given, rank);
    const copy = blockCopy(context, y.spec.dtype, rank);
    return function* (run) {
      const strides = stridesOf(run.shape(y));
      let to = 0;
      for (const operand of inputs) {
        const shape = run.shape(operand);
        yield* copy(run.address(operand), run.address(y), { axes: axesOf(shape, stridesOf(shape), strides), from: 0, to });
        to += elementAt(shape, axis) * elementAt(strides, axis);
      }
    };
  },
};
