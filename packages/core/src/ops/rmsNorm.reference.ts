import type { Reference } from "../reference/referenceType.ts";

export const rmsNorm: Reference<"rmsNorm"> = ([x, w], { eps }, y) => {
  const n = x.spec.shape.at(-1)!;
  const [from, weight, to] = [x.data, w.data, y.data];
  for (let row = 0; row < to.length; row += n) {
    let squares = 0;
    for (let i = 0; i < n; i++) squares += from[row + i]! * from[row + i]!;
    const factor = 1 / Math.sqrt(squares / n + eps);
    for (let i = 0; i < n; i++) to[row + i] = from[row + i]! * factor * weight[i]!;
  }
};
