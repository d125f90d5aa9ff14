import { elementAt, lastOf } from "@centella/quant/checks";
import type { Reference } from "../reference/referenceType.ts";
import { moments } from "./shared/moments.ts";

export const layerNorm: Reference<"layerNorm"> = ([x, w, bias], { eps }, y) => {
  const n = lastOf(x.spec.shape);
  for (let row = 0; row < y.data.length; row += n) {
    const line = Float64Array.from(x.data.subarray(row, row + n));
    const { mean, variance } = moments(line);
    const factor = 1 / Math.sqrt(variance + eps);
    for (const [i, value] of line.entries()) y.data[row + i] = (value - mean) * factor * elementAt(w.data, i) + (bias?.data[i] ?? 0);
  }
};
