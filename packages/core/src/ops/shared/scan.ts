import type { Op } from "../../program/op.ts";
import { axisView } from "./axes.ts";
import { resolveAxis } from "./checks.ts";
import { elementwiseCost, requireDType } from "./elementwise.ts";

export interface ScanParams {
  /** Axis to accumulate along. A negative axis counts from the end. */
  readonly axis: number;
}

/** Op that accumulates along an axis in f64: `y[i] = f(y[i - 1], x[i])`. `x [...] -> y [...]`, f32. */
export function scan(name: string, start: number, f: (sum: number, x: number) => number): Op<["x"], ScanParams, "axis"> {
  return {
    name,
    inputs: ["x"],
    defaults: { axis: -1 },
    infer([x], { axis }) {
      resolveAxis(name, axis, x.shape.length);
      return requireDType(name, "x", x, ["f32"]);
    },
    cost: (inputs, _params, y) => elementwiseCost(1, inputs, y),
    reference([x], { axis }, y) {
      const { outer, n, inner } = axisView(name, x.spec.shape, axis);
      for (let o = 0; o < outer; o++) {
        for (let k = 0; k < inner; k++) {
          let sum = start;
          for (let i = 0, at = o * n * inner + k; i < n; i++, at += inner) {
            sum = f(sum, x.data[at]!);
            y.data[at] = sum;
          }
        }
      }
    },
  };
}
