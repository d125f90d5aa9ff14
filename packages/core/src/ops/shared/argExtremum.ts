import type { Op } from "../../program/op.ts";
import { byteLength, elementCount } from "../../spec.ts";
import { axisView, emptyAxis, reducedShape } from "./axes.ts";
import { resolveAxis } from "./checks.ts";
import { requireDType } from "./elementwise.ts";

export interface ArgmaxParams {
  /** Axis to search. A negative axis counts from the end. */
  readonly axis: number;
}

/** Op that returns the index of the best value along an axis by `better`: the first one among equals, or the first NaN. */
export function argExtremum(name: string, better: (value: number, best: number) => boolean): Op<["x"], ArgmaxParams, "axis"> {
  return {
    name,
    inputs: ["x"],
    defaults: { axis: -1 },
    infer([x], { axis }) {
      requireDType(name, "x", x, ["f32"]);
      const at = resolveAxis(name, axis, x.shape.length);
      if (x.shape[at] === 0) throw emptyAxis(name, x);
      return { dtype: "i32", shape: reducedShape(x.shape, at, false) };
    },
    cost: ([x], _params, y) => ({ flops: elementCount(x.shape), bytes: byteLength(x) + byteLength(y) }),
    reference([x], { axis }, y) {
      const { outer, n, inner } = axisView(name, x.spec.shape, axis);
      const { data } = x;
      for (let o = 0; o < outer; o++) {
        for (let k = 0; k < inner; k++) {
          let best = 0;
          for (let i = 1; i < n; i++) {
            const champion = data[(o * n + best) * inner + k]!;
            if (Number.isNaN(champion)) break;
            const value = data[(o * n + i) * inner + k]!;
            if (better(value, champion) || Number.isNaN(value)) best = i;
          }
          y.data[o * inner + k] = best;
        }
      }
    },
  };
}
