import type { Reference } from "../reference/referenceType.ts";
import { elementCount } from "../spec.ts";
import { moments } from "./shared/moments.ts";

export const groupNorm: Reference<"groupNorm"> = ([x, w, bias], { groups, eps }, y) => {
  const [, channels, ...inner] = x.spec.shape;
  const points = elementCount(inner);
  const n = (channels! / groups) * points;
  if (n === 0) return;
  for (let at = 0, group = 0; at < y.data.length; at += n, group = (group + 1) % groups) {
    const { mean, variance } = moments(x.data, at, 1, n);
    const factor = 1 / Math.sqrt(variance + eps);
    for (let i = 0; i < n; i++) {
      const c = group * (channels! / groups) + Math.floor(i / points);
      y.data[at + i] = (x.data[at + i]! - mean) * factor * w.data[c]! + (bias?.data[c] ?? 0);
    }
  }
};
