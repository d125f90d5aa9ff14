import { elementAt } from "@centella/quant/checks";
import type { Reference } from "../reference/referenceType.ts";
import { resolveAxis } from "./shared/checks.ts";
import { copyBlock, rowMajor } from "./shared/strided.ts";

export const concat: Reference<"concat"> = (tensors, { axis: given }, y) => {
  const axis = resolveAxis("concat", given, y.spec.shape.length);
  const strides = rowMajor(y.spec.shape);
  let start = 0;
  for (const tensor of tensors) {
    const { shape } = tensor.spec;
    copyBlock(shape, tensor, { start: 0, strides: rowMajor(shape) }, y, { start, strides });
    start += elementAt(shape, axis) * elementAt(strides, axis);
  }
};
