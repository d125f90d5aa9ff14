import { elementAt } from "@centella/quant/checks";
import type { Reference } from "../reference/referenceType.ts";
import { resolveAxis } from "./shared/checks.ts";
import { copyBlock, rowMajor } from "./shared/strided.ts";

export const stack: Reference<"stack"> = (tensors, { axis }, y) => {
  const at = resolveAxis("stack", axis, y.spec.shape.length);
  const strides = rowMajor(y.spec.shape);
  for (const [i, tensor] of tensors.entries()) {
    const { shape } = tensor.spec;
    copyBlock(shape, tensor, { start: 0, strides: rowMajor(shape) }, y, {
      start: i * elementAt(strides, at),
      strides: strides.toSpliced(at, 1),
    });
  }
};
