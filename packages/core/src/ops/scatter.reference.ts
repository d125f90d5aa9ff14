import { ArgumentError } from "../errors.ts";
import type { Reference } from "../reference/referenceType.ts";
import { axisView } from "./shared/axes.ts";

export const scatter: Reference<"scatter"> = ([x, indices, updates], { axis, mode }, y) => {
  const { outer, n, inner } = axisView("scatter", x.spec.shape, axis);
  y.data.set(x.data);
  let from = 0;
  for (let o = 0; o < outer; o++) {
    indices.data.forEach((index, i) => {
      if (index < 0 || index >= n)
        throw new ArgumentError("scatter", `indices from 0 to ${n - 1}`, `${index} at ${i}`, "correct the indices");
      const at = (o * n + index) * inner;
      for (let k = 0; k < inner; k++, from++) y.data[at + k] = updates.data[from]! + (mode === "add" ? y.data[at + k]! : 0);
    });
  }
};
