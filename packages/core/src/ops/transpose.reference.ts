import { elementAt } from "@centella/quant/checks";
import type { Reference } from "../reference/referenceType.ts";
import { copyBlock, rowMajor } from "./shared/strided.ts";
import { orderOf } from "./transpose.ts";

export const transpose: Reference<"transpose"> = ([x], { axes }, y) => {
  const strides = rowMajor(x.spec.shape);
  const order = orderOf(axes, strides.length);
  const source = { start: 0, strides: order.map((axis) => elementAt(strides, axis)) };
  copyBlock(y.spec.shape, x, source, y, { start: 0, strides: rowMajor(y.spec.shape) });
};
