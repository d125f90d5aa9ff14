import type { Op } from "../../program/op.ts";
import { byteLength, elementCount } from "../../spec.ts";
import { axisView, emptyAxis, gather, reducedShape } from "./axes.ts";
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
      const line = new Float64Array(n);
      for (let o = 0; o < outer; o++) {
        for (let k = 0; k < inner; k++) {
          gather(x.data, o * n * inner + k, inner, line);
          y.data[o * inner + k] = bestOf(line, better);
        }
      }
    },
  };
}

function bestOf(line: Float64Array, better: (value: number, best: number) => boolean): number {
  let best = { value: Number.NaN, index: 0 };
  for (const [index, value] of line.entries()) {
    if (index === 0 || better(value, best.value) || Number.isNaN(value)) best = { value, index };
    if (Number.isNaN(value)) break;
  }
  return best.index;
}
