import { elementAt, resolveAxis } from "@centella/core/backend";
import type { Kernel } from "../kernel.ts";
import { axesOf, blockCopy, stridesOf } from "./shared/copies.ts";

export const stack: Kernel<"stack"> = {
  build(context, inputs, { axis: given }, y) {
    const rank = y.spec.shape.length;
    const axis = resolveAxis("stack", given, rank);
    const copy = blockCopy(context, y.spec.dtype, rank);
    return function* (run) {
      const strides = stridesOf(run.shape(y));
      for (const [i, operand] of inputs.entries()) {
        const shape = run.shape(operand);
        const axes = axesOf(shape, stridesOf(shape), strides.toSpliced(axis, 1));
        yield* copy(run.address(operand), run.address(y), { axes, from: 0, to: i * elementAt(strides, axis) });
      }
    };
  },
};
