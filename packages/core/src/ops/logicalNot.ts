import type { Op } from "../program/op.ts";
import { elementwiseCost, requireDType } from "./shared/elementwise.ts";

/**
 * Logical negation: `y = !x`.
 * `x [...] bool -> y [...] bool`.
 * @throws {DTypeError} unless x is bool
 */
export const logicalNot: Op<["x"]> = {
  name: "logicalNot",
  inputs: ["x"],
  elementwise: true,
  defaults: {},
  infer: ([x]) => requireDType("logicalNot", "x", x, ["bool"]),
  cost: (inputs, _params, y) => elementwiseCost(1, inputs, y),
  reference([x], _params, y) {
    for (let i = 0; i < y.data.length; i++) y.data[i] = Number(x.data[i] === 0);
  },
};
