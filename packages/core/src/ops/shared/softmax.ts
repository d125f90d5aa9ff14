import type { Op } from "../../program/op.ts";
import { axisView, gather } from "./axes.ts";
import { resolveAxis } from "./checks.ts";
import { elementwiseCost, requireDType } from "./elementwise.ts";

export interface SoftmaxParams {
  /** Axis that the softmax normalises. A negative axis counts from the end. */
  readonly axis: number;
}

/** Softmax along an axis, or its logarithm: they share all but the last step. */
export function softmaxLike(name: string, log: boolean): Op<["x"], SoftmaxParams, "axis"> {
  return {
    name,
    inputs: ["x"],
    defaults: { axis: -1 },
    infer([x], { axis }) {
      resolveAxis(name, axis, x.shape.length);
      return requireDType(name, "x", x, ["f32"]);
    },
    cost: ([x]) => elementwiseCost(5, [x], x),
    reference([x], { axis }, y) {
      const { outer, n, inner } = axisView(name, x.spec.shape, axis);
      const line = new Float64Array(n);
      for (let o = 0; o < outer; o++) {
        for (let k = 0; k < inner; k++) {
          const at = o * n * inner + k;
          gather(x.data, at, inner, line);
          const largest = line.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
          const sum = line.reduce((total, value) => total + Math.exp(value - largest), 0);
          const logSum = Math.log(sum);
          line.forEach((value, i) => {
            y.data[at + i * inner] = log ? value - largest - logSum : Math.exp(value - largest) / sum;
          });
        }
      }
    },
  };
}
