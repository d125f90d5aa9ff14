import { ArgumentError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { requireChannels } from "./shared/channels.ts";
import { requireExtent, requireFromZero, requireShape, requireWhole } from "./shared/checks.ts";
import { elementwiseCost, requireDType } from "./shared/elementwise.ts";

export interface GroupNormParams {
  /** Number of groups of adjacent channels. 1 normalises over all C channels, C is an instance norm. */
  readonly groups: number;
  /** Added to the variance. */
  readonly eps: number;
}

/**
 * Group norm (Wu & He, 2018): each group of channels of each item gets mean 0 and variance 1, then `y = ... * w[c] + bias[c]`. Population
 * variance in two passes. `x [N, C, ...], w [C], bias [C]? -> y [N, C, ...]`, f32.
 * @throws {ShapeError | DTypeError | ArgumentError}
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
