import { elementAt } from "@centella/quant/checks";
import type { Reference } from "../reference/referenceType.ts";
import { elementCount } from "../spec.ts";
import { moments } from "./shared/moments.ts";

export const groupNorm: Reference<"groupNorm"> = ([x, w, bias], { groups, eps }, y) => {
  const perGroup = elementAt(x.spec.shape, 1) / groups;
  const points = elementCount(x.spec.shape.slice(2));
  const n = perGroup * points;
  if (n === 0) return;
  for (let at = 0, group = 0; at < y.data.length; at += n, group = (group + 1) % groups) {
    const line = Float64Array.from(x.data.subarray(at, at + n));
    const { mean, variance } = moments(line);
    const factor = 1 / Math.sqrt(variance + eps);
    for (const [i, value] of line.entries()) {
      const c = group * perGroup + Math.floor(i / points);
      y.data[at + i] = (value - mean) * factor * elementAt(w.data, c) + (bias?.data[c] ?? 0);
    }
  }
};
