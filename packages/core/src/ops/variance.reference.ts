import type { Reference } from "../reference/referenceType.ts";
import { axisView, gather } from "./shared/axes.ts";
import { moments } from "./shared/moments.ts";

export const variance: Reference<"variance"> = ([x], { axis, correction }, y) => {
  const { outer, n, inner } = axisView("variance", x.spec.shape, axis);
  const line = new Float64Array(n);
  for (let o = 0; o < outer; o++) {
    for (let k = 0; k < inner; k++) {
      gather(x.data, o * n * inner + k, inner, line);
      const population = moments(line).variance;
      y.data[o * inner + k] = n > correction ? (population * n) / (n - correction) : Number.NaN;
    }
  }
};
