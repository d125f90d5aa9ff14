import { lastOf } from "@centella/quant/checks";
import type { Reference } from "../reference/referenceType.ts";

export const rmsNorm: Reference<"rmsNorm"> = ([x, w], { eps }, y) => {
  const n = lastOf(x.spec.shape);
  const [from, weight, to] = [x.data, w.data, y.data];
  for (let row = 0; row < to.length; row += n) {
    let squares = 0;
    for (const value of from.subarray(row, row + n)) squares += value * value;
    const factor = 1 / Math.sqrt(squares / n + eps);
    for (let i = 0; i < n; i++) to[row + i] = from[row + i]! * factor * weight[i]!;
  }
};
