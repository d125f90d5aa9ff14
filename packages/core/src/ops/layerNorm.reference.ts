import type { Reference } from "../reference/referenceType.ts";
import { moments } from "./shared/moments.ts";

export const layerNorm: Reference<"layerNorm"> = ([x, w, bias], { eps }, y) => {
  const n = x.spec.shape.at(-1)!;
  for (let row = 0; row < y.data.length; row += n) {
    const { mean, variance } = moments(x.data, row, 1, n);
    const factor = 1 / Math.sqrt(variance + eps);
    for (let i = 0; i < n; i++) y.data[row + i] = (x.data[row + i]! - mean) * factor * w.data[i]! + (bias?.data[i] ?? 0);
  }
};
