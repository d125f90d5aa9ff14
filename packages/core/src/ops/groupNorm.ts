import { ArgumentError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { requireChannels } from "./shared/channels.ts";
import { requireExtent, requireFromZero, requireShape, requireWhole } from "./shared/checks.ts";
import { elementwiseCost, requireDType } from "./shared/elementwise.ts";

export interface GroupNormParams {
  /** Number of groups of adjacent channels: 1 normalises over all C channels, C gives an instance norm. */
  readonly groups: number;
  /** Added to the variance, which avoids a division by zero. */
  readonly eps: number;
}

/**
 * Group norm (Wu & He, 2018): normalises each group of channels to mean 0 and variance 1, then scales and shifts each channel:
 * `y = (x - mean) / sqrt(variance + eps) * w[c] + bias[c]`.
 * `x [N, C, ...], w [C], bias [C]? -> y [N, C, ...]`, f32.
 *
 * Mean and variance are taken over one group of one item. The variance is the population's, computed in two passes.
 * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes or are not f32
 * @throws {ArgumentError} if `groups` does not divide C, or `eps` is negative or not finite
 */
export const groupNorm: Op<["x", "w"], GroupNormParams, never, ["bias"]> = {
  name: "groupNorm",
  inputs: ["x", "w"],
  optionalInputs: ["bias"],
  defaults: {},
  required: ["groups", "eps"],
  infer([x, w, bias], { groups, eps }) {
    const channel = requireChannels("groupNorm", x);
    const channels = requireExtent("groupNorm", "C of x", channel);
    for (const [name, spec] of [["w", w] as const, ["bias", bias] as const]) {
      if (spec === undefined) continue;
      requireDType("groupNorm", name, spec, ["f32"]);
      requireShape("groupNorm", name, spec, [channels]);
    }
    requireFromZero("groupNorm", "eps", eps);
    requireWhole("groupNorm", "groups", groups, 1);
    if (channels % groups !== 0)
      throw new ArgumentError("groupNorm", `groups that divide C = ${channels}`, String(groups), "choose other groups");
    return x;
  },
  cost: (inputs, _params, y) => elementwiseCost(7, inputs, y),
};
