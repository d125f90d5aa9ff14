import type { Operand } from "@centella/core/backend";
import type { Kernel } from "../kernel.ts";
import { conv2d, emitConv2d } from "./conv2d.ts";

/** A 2-D convolution over images of one row. */
export const conv1d: Kernel<"conv1d"> = {
  emit: emitConv2d,
  build(context, inputs, { stride, padding, dilation, groups }, y) {
    const flat = (shape: readonly number[]): readonly number[] => shape.toSpliced(2, 0, 1);
    const max = (operand: Operand) => ({ dtype: operand.spec.dtype, shape: flat(context.max(operand).shape) });
    const params = { stride: [1, stride], padding: [0, padding], dilation: [1, dilation], groups } as const;
    const task = conv2d.build({ ...context, max }, inputs, params, y);
    return (run) => task({ ...run, scratch: run.scratch, address: run.address, shape: (operand) => flat(run.shape(operand)) });
  },
};
