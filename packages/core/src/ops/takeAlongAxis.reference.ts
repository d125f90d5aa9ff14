import { ArgumentError } from "../errors.ts";
import type { Reference } from "../reference/referenceType.ts";
import { elementCount } from "../spec.ts";
import { axisView } from "./shared/axes.ts";

export const takeAlongAxis: Reference<"takeAlongAxis"> = ([x, indices], { axis }, y) => {
  const { outer, n, inner } = axisView("takeAlongAxis", x.spec.shape, axis);
  const kept = axisView("takeAlongAxis", y.spec.shape, axis).n;
  for (let at = 0; at < elementCount([outer, kept, inner]); at++) {
    const index = indices.data[at]!;
    if (index < 0 || index >= n)
      throw new ArgumentError("takeAlongAxis", `indices from 0 to ${n - 1}`, `${index} at ${at}`, "correct the indices");
    const line = Math.floor(at / (kept * inner));
    y.data[at] = x.data[(line * n + index) * inner + (at % inner)]!;
  }
};
