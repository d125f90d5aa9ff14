import { ShapeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { formatSpec } from "../spec.ts";
import { requireFromZero, requireShape } from "./shared/checks.ts";
import { elementwiseCost, requireDType } from "./shared/elementwise.ts";

export interface LayerNormParams {
  /** Added to the variance, which avoids a division by zero. */
  readonly eps: number;
}

/**
 * Layer norm over the last axis (Ba et al., 2016): `y = (x - mean(x)) / sqrt(variance(x) + eps) * w + bias`.
 * `x [..., n], w [n], bias [n]? -> y [..., n]`, f32. The variance is the population's, computed in two passes.
 * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes or are not f32
 * @throws {ArgumentError} if `eps` is negative or not finite
 */
export const layerNorm: Op<["x", "w"], LayerNormParams, never, ["bias"]> = {
  name: "layerNorm",
  inputs: ["x", "w"],
  optionalInputs: ["bias"],
  defaults: {},
  required: ["eps"],
  infer([x, w, bias], { eps }) {
    requireDType("layerNorm", "x", x, ["f32"]);
    requireDType("layerNorm", "w", w, ["f32"]);
    if (bias !== undefined) requireDType("layerNorm", "bias", bias, ["f32"]);
    requireFromZero("layerNorm", "eps", eps);
    if (x.shape.length === 0) throw new ShapeError("layerNorm", "x [..., n]", formatSpec(x), "a scalar has no axis to normalise");
    requireShape("layerNorm", "w", w, x.shape.slice(-1));
    if (bias !== undefined) requireShape("layerNorm", "bias", bias, x.shape.slice(-1));
    return x;
  },
  cost: (inputs, _params, y) => elementwiseCost(7, inputs, y),
};
