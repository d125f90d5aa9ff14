import type { Op } from "../../program/op.ts";
import { axisView } from "./axes.ts";
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
      const [from, to] = [x.data, y.data];
      for (let o = 0; o < outer; o++) {
        for (let k = 0; k < inner; k++) {
          const at = o * n * inner + k;
          let largest = Number.NEGATIVE_INFINITY;
          for (let i = 0; i < n; i++) largest = Math.max(largest, from[at + i * inner]!);
          let sum = 0;
          for (let i = 0; i < n; i++) sum += Math.exp(from[at + i * inner]! - largest);
          const logSum = Math.log(sum);
          for (let i = 0; i < n; i++) {
            const shifted = from[at + i * inner]! - largest;
            to[at + i * inner] = log ? shifted - logSum : Math.exp(shifted) / sum;
          }
        }
      }
    },
  };
}
