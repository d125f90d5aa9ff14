import { ArgumentError, ShapeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { byteLength, elementCount, formatSpec } from "../spec.ts";
import { requireAxes, requireExtent, requireOneOf, requireShape, requireWhole } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";
import { type Gating, gatings } from "./shared/gating.ts";

export interface MoeRouteParams {
  /** Number of experts per token. */
  readonly k: number;
  /** How logits become scores, before the bias is added. */
  readonly gating: Gating;
  /** Number of equal groups of experts, of which a token uses `topKGroups`. 1 means no groups. */
  readonly groups: number;
  /** Number of groups that a token uses: those whose two best scores have the largest sums. */
  readonly topKGroups: number;
}

/**
 * Chooses the `k` experts with the highest scores for each token, best first. The lower index comes first among equals; NaN counts as the
 * lowest score.
 * `logits [T, E], bias [E]? -> ids [T, k] i32`, with f32 inputs.
 *
 * An expert's score is its gate (see `moeWeights`) plus the bias. The bias has no part in the weights (DeepSeek-AI, 2024, "DeepSeek-V3",
 * section 2.1.2).
 * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes or are not f32, or `groups` does not divide E
 * @throws {ArgumentError} if an option is out of range
 */
export const moeRoute: Op<["logits"], MoeRouteParams, "gating" | "groups" | "topKGroups", ["bias"]> = {
  name: "moeRoute",
  inputs: ["logits"],
  optionalInputs: ["bias"],
  defaults: { gating: "softmax", groups: 1, topKGroups: 1 },
  required: ["k"],
  infer([logits, bias], { k, gating, groups, topKGroups }) {
    requireDType("moeRoute", "logits", logits, ["f32"]);
    const [tokens, experts] = requireAxes("moeRoute", "logits", logits, ["T", "E"]);
    const count = requireExtent("moeRoute", "E", experts);
    if (bias !== undefined) {
      requireDType("moeRoute", "bias", bias, ["f32"]);
      requireShape("moeRoute", "bias", bias, [count]);
    }
    requireOneOf("moeRoute", "gating", gating, gatings);
    requireWhole("moeRoute", "k", k, 1);
    requireWhole("moeRoute", "groups", groups, 1);
    requireWhole("moeRoute", "topKGroups", topKGroups, 1);
    if (count % groups !== 0)
      throw new ShapeError("moeRoute", `E to be a multiple of ${groups} groups`, formatSpec(logits), "choose other groups");
    if (topKGroups > groups)
      throw new ArgumentError("moeRoute", `topKGroups up to groups = ${groups}`, String(topKGroups), "use fewer groups");
    const available = (count / groups) * topKGroups;
    if (k > available)
      throw new ArgumentError(
        "moeRoute",
        `k up to the ${available} experts of topKGroups = ${topKGroups} groups`,
        String(k),
        "use more groups, or choose fewer experts",
      );
    return { dtype: "i32", shape: [tokens, k] };
  },
  cost([logits], { k }, ids) {
    return { flops: (4 + k) * elementCount(logits.shape), bytes: byteLength(logits) + byteLength(ids) };
  },
};
