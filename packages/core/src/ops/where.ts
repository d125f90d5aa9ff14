import { DTypeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { plainTypes } from "./shared/dtypes.ts";
import { broadcastAll, combineThree, elementwiseCost, requireDType } from "./shared/elementwise.ts";

/**
 * Selects elements by a condition: `y = condition ? a : b`.
 * `condition [...] bool, a [...], b [...] -> y [...]` with broadcasting; `a` and `b` share one plain dtype.
 * @throws {ShapeError} if the shapes do not broadcast
 * @throws {DTypeError} unless `condition` is bool, and `a` and `b` have one plain dtype
 */
export const where: Op<["condition", "a", "b"]> = {
  name: "where",
  inputs: ["condition", "a", "b"],
  elementwise: true,
  defaults: {},
  infer(inputs) {
    const [condition, a, b] = inputs;
    requireDType("where", "condition", condition, ["bool"]);
    requireDType("where", "a", a, plainTypes);
    if (a.dtype !== b.dtype) throw new DTypeError("where", "a and b of one dtype", `${a.dtype} and ${b.dtype}`, "cast one of them");
    return { dtype: a.dtype, shape: broadcastAll("where", inputs) };
  },
  cost: (inputs, _params, y) => elementwiseCost(1, inputs, y),
  reference: ([condition, a, b], _params, y) => combineThree(condition, a, b, y, (test, p, q) => (test !== 0 ? p : q)),
};
