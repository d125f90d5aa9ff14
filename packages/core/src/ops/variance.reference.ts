import type { Reference } from "../reference/referenceType.ts";
import { axisView } from "./shared/axes.ts";
import { moments } from "./shared/moments.ts";

export const variance: Reference<"variance"> = ([x], { axis, correction }, y) => {
  const { outer, n, inner } = axisView("variance", x.spec.shape, axis);
  for (let o = 0; o < outer; o++) {
    for (let k = 0; k < inner; k++) {
      const population = moments(x.data, o * n * inner + k, inner, n).variance;
      y.data[o * inner + k] = n > correction ? (population * n) / (n - correction) : Number.NaN;
    }
  }
};
