import { DTypeError } from "../../errors.ts";
import type { Op } from "../../program/op.ts";
import { numberTypes } from "./dtypes.ts";
import { broadcast, combine, elementwiseCost, requireDType } from "./elementwise.ts";

/** Comparison with numpy broadcasting: `a [...], b [...] -> y [...] bool`, where `a` and `b` share one number dtype. */
export function comparison(name: string, holds: (a: number, b: number) => boolean): Op<["a", "b"]> {
  return relation(name, numberTypes, holds);
}

/** Function of two truth values with numpy broadcasting: `a [...], b [...] -> y [...]`, all bool. */
export function logical(name: string, holds: (a: boolean, b: boolean) => boolean): Op<["a", "b"]> {
  return relation(name, ["bool"], (a, b) => holds(a !== 0, b !== 0));
}

function relation(name: string, dtypes: readonly string[], holds: (a: number, b: number) => boolean): Op<["a", "b"]> {
  return {
    name,
    inputs: ["a", "b"],
    elementwise: true,
    defaults: {},
    infer([a, b]) {
      requireDType(name, "a", a, dtypes);
      if (a.dtype !== b.dtype) throw new DTypeError(name, "a and b of one dtype", `${a.dtype} and ${b.dtype}`, "cast one of them");
      return { dtype: "bool", shape: broadcast(name, a.shape, b.shape) };
    },
    cost: (inputs, _params, y) => elementwiseCost(1, inputs, y),
    reference: ([a, b], _params, y) => combine(a, b, y, (p, q) => Number(holds(p, q))),
  };
}
