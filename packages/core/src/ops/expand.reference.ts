import type { Reference } from "../reference/referenceType.ts";
import { broadcastStrides } from "./shared/elementwise.ts";
import { copyBlock, rowMajor } from "./shared/strided.ts";

export const expand: Reference<"expand"> = ([x], _params, y) => {
  const { shape } = y.spec;
  copyBlock(shape, x, { start: 0, strides: broadcastStrides(x.spec.shape, shape) }, y, { start: 0, strides: rowMajor(shape) });
};
