import { ShapeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { formatSpec } from "../spec.ts";
import { requireFromZero, requireShape } from "./shared/checks.ts";
import { elementwiseCost, requireDType } from "./shared/elementwise.ts";

export interface RmsNormParams {
  /** Added to the mean of squares, which avoids a division by zero. */
  readonly eps: number;
}

/**
 * Root-mean-square norm over the last axis (Zhang & Sennrich, 2019): `y = x / sqrt(mean(x^2) + eps) * w`.
 * `x [..., n], w [n] -> y [..., n]`, f32.
 * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes or are not f32
 * @throws {ArgumentError} if `eps` is negative or not finite
 */
export const rmsNorm: Op<["x", "w"], RmsNormParams> = {
  name: "rmsNorm",
  inputs: ["x", "w"],
  defaults: {},
  required: ["eps"],
  infer([x, w], { eps }) {
    requireDType("rmsNorm", "x", x, ["f32"]);
    requireDType("rmsNorm", "w", w, ["f32"]);
    requireFromZero("rmsNorm", "eps", eps);
    if (x.shape.length === 0) throw new ShapeError("rmsNorm", "x [..., n]", formatSpec(x), "a scalar has no axis to normalise");
    requireShape("rmsNorm", "w", w, x.shape.slice(-1));
    return x;
  },
  cost: (inputs, _params, y) => elementwiseCost(4, inputs, y),
};
