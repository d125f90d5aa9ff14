import { elementAt } from "@centella/quant/checks";
import { ArgumentError } from "../errors.ts";
import type { Reference } from "../reference/referenceType.ts";
import { elementCount } from "../spec.ts";
import { resolveAxis } from "./shared/checks.ts";
import { copyBlock, rowMajor } from "./shared/strided.ts";

export const slice: Reference<"slice"> = ([x], { axis: given, start, step }, y) => {
  const axis = resolveAxis("slice", given, x.spec.shape.length);
  const strides = rowMajor(x.spec.shape);
  const extent = elementAt(x.spec.shape, axis);
  const first = start < 0 ? start + extent : start;
  const end = first + elementAt(y.spec.shape, axis);
  if (end > extent) throw new ArgumentError("slice", `an end up to ${extent} in this run`, String(end), "bind a smaller dim");
  const source = { start: first * elementAt(strides, axis), strides: strides.map((stride, i) => (i === axis ? stride * step : stride)) };
  if (elementCount(y.spec.shape) > 0) copyBlock(y.spec.shape, x, source, y, { start: 0, strides: rowMajor(y.spec.shape) });
};
