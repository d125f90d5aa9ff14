import type { Op } from "../program/op.ts";
import { requireChannels } from "./shared/channels.ts";
import { requireFromZero, requireShape } from "./shared/checks.ts";
import { elementwiseCost, requireDType } from "./shared/elementwise.ts";

export interface BatchNormParams {
  /** Added to the variance, which avoids a division by zero. */
  readonly eps: number;
}

/**
 * Batch norm (Ioffe & Szegedy, 2015) with stored statistics, as in inference:
 * `y = (x - mean[c]) / sqrt(variance[c] + eps) * w[c] + bias[c]`.
 * `x [N, C, ...], mean [C], variance [C], w [C], bias [C] -> y [N, C, ...]`, f32.
 * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes or are not f32
 * @throws {ArgumentError} if `eps` is negative or not finite
 */
export const batchNorm: Op<["x", "mean", "variance", "w", "bias"], BatchNormParams> = {
  name: "batchNorm",
  inputs: ["x", "mean", "variance", "w", "bias"],
  defaults: {},
  required: ["eps"],
  infer([x, mean, variance, w, bias], { eps }) {
    const channels = requireChannels("batchNorm", x);
    for (const [name, spec] of Object.entries({ mean, variance, w, bias })) {
      requireDType("batchNorm", name, spec, ["f32"]);
      requireShape("batchNorm", name, spec, [channels]);
    }
    requireFromZero("batchNorm", "eps", eps);
    return x;
  },
  cost: (inputs, _params, y) => elementwiseCost(4, inputs, y),
};
