import { elementAt } from "@centella/quant/checks";
import type { Reference } from "../reference/referenceType.ts";
import { copyBlock, rowMajor } from "./shared/strided.ts";

export const pad: Reference<"pad"> = ([x], { pads, value }, y) => {
  y.data.fill(value);
  const strides = rowMajor(y.spec.shape);
  const start = pads.reduce((sum, [before], axis) => sum + before * elementAt(strides, axis), 0);
  copyBlock(x.spec.shape, x, { start: 0, strides: rowMajor(x.spec.shape) }, y, { start, strides });
};
