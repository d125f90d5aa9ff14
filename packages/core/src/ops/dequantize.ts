import { isInteger } from "../dtype.ts";
import type { Op } from "../program/op.ts";
import { elementwiseCost, requireDType } from "./shared/elementwise.ts";

/** The values of a storage type: `x [...]` of a block type, f16 or bf16 `-> y [...]` f32, exact. @throws {DTypeError} */
export const dequantize: Op<["x"]> = {
  name: "dequantize",
  inputs: ["x"],
  defaults: {},
  infer([x]) {
    if (isInteger(x.dtype) || x.dtype === "f32") requireDType("dequantize", "x", x, ["a block type", "f16", "bf16"]);
    return { dtype: "f32", shape: x.shape };
  },
  cost: (inputs, _params, y) => elementwiseCost(1, inputs, y),
};
