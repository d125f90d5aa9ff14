import { elementAt } from "@centella/quant/checks";
import type { Reference } from "../reference/referenceType.ts";
import { elementCount } from "../spec.ts";

export const batchNorm: Reference<"batchNorm"> = ([x, mean, variance, w, bias], { eps }, y) => {
  const points = elementCount(x.spec.shape.slice(2));
  for (let at = 0, c = 0; at < y.data.length && points > 0; at += points, c = (c + 1) % w.data.length) {
    const factor = elementAt(w.data, c) / Math.sqrt(elementAt(variance.data, c) + eps);
    const [center, offset] = [elementAt(mean.data, c), elementAt(bias.data, c)];
    for (let i = at; i < at + points; i++) y.data[i] = (x.data[i]! - center) * factor + offset;
  }
};
