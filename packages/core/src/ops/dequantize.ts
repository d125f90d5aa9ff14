import { isInteger } from "../dtype.ts";
import type { Op } from "../program/op.ts";
import { elementwiseCost, requireDType } from "./shared/elementwise.ts";

/**
 * Decodes a block type, f16 or bf16 to f32. The result is exact.
 * `x [...] -> y [...] f32`.
 * @throws {DTypeError} if x is f32, an integer or bool
 */
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
