import type { Reference } from "../reference/referenceType.ts";
import { elementCount } from "../spec.ts";

export const batchNorm: Reference<"batchNorm"> = ([x, mean, variance, w, bias], { eps }, y) => {
  const [, channels, ...inner] = x.spec.shape;
  const points = elementCount(inner);
  for (let at = 0, c = 0; at < y.data.length && points > 0; at += points, c = (c + 1) % channels!) {
    const factor = w.data[c]! / Math.sqrt(variance.data[c]! + eps);
    for (let i = 0; i < points; i++) y.data[at + i] = (x.data[at + i]! - mean.data[c]!) * factor + bias.data[c]!;
  }
};
