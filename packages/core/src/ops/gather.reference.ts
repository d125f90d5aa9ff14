import { ArgumentError } from "../errors.ts";
import type { Reference } from "../reference/referenceType.ts";
import { axisView } from "./shared/axes.ts";

export const gather: Reference<"gather"> = ([x, indices, fallback], { axis }, y) => {
  const { outer, n, inner } = axisView("gather", x.spec.shape, axis);
  let at = 0;
  for (let o = 0; o < outer; o++) {
    indices.data.forEach((index, i) => {
      const isOutside = index < 0 || index >= n;
      if (isOutside && fallback === undefined)
        throw new ArgumentError("gather", `indices from 0 to ${n - 1}`, `${index} at ${i}`, "correct the indices");
      const from = isOutside ? at : (o * n + index) * inner;
      y.data.set((isOutside ? fallback! : x).data.subarray(from, from + inner), at);
      at += inner;
    });
  }
};
