import type { Op } from "../op.ts";
import { byteLength, elementCount } from "../spec.ts";
import { axisView, emptyAxis, reducedShape } from "./shared/axes.ts";
import { resolveAxis } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";

export interface ArgmaxParams {
  /** Negative ones count from the end. */
  readonly axis: number;
}

/**
 * Index of the largest value along an axis, the first of equals; a NaN counts as the largest (numpy's rule).
 * `x [...] f32 -> y [...] i32` without the axis. An axis that a run makes empty gives 0.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const argmax: Op<["x"], ArgmaxParams, "axis"> = {
  name: "argmax",
  inputs: ["x"],
  defaults: { axis: -1 },
  infer([x], { axis }) {
    requireDType("argmax", "x", x!, ["f32"]);
    const at = resolveAxis("argmax", axis, x!.shape.length);
    if (x!.shape[at] === 0) throw emptyAxis("argmax", x!);
    return { dtype: "i32", shape: reducedShape(x!.shape, at, false) };
  },
  cost: ([x], _params, y) => ({ flops: elementCount(x!.shape), bytes: byteLength(x!) + byteLength(y) }),
  reference([x], { axis }, y) {
    const { outer, n, inner } = axisView("argmax", x!.spec.shape, axis);
    const { data } = x!;
    for (let o = 0; o < outer; o++) {
      for (let k = 0; k < inner; k++) {
        let best = 0;
        for (let i = 1; i < n; i++) {
          const largest = data[(o * n + best) * inner + k]!;
          if (Number.isNaN(largest)) break;
          const value = data[(o * n + i) * inner + k]!;
          if (value > largest || Number.isNaN(value)) best = i;
        }
        y.data[o * inner + k] = best;
      }
    }
  },
};
