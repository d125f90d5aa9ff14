import { DTypeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { plainTypes } from "./shared/dtypes.ts";
import { broadcastAll, combineThree, elementwiseCost, requireDType } from "./shared/elementwise.ts";

/**
 * `y = condition ? a : b` element by element, with broadcasting. `condition [...] bool, a [...], b [...] -> y [...]`; `a` and `b`
 * of one plain dtype.
 * @throws {ShapeError | DTypeError}
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
