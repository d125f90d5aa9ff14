import { ArgumentError, ShapeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { byteLength, elementCount, formatSpec } from "../spec.ts";
import { requireAxes, requireExtent, requireOneOf, requireShape, requireWhole } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";
import { type Gating, gatings } from "./shared/gating.ts";

export interface MoeRouteParams {
  /** Experts for each token. */
  readonly k: number;
  /** What scores are made of logits before the bias is added. */
  readonly gating: Gating;
  /** Groups of equal size that the experts are in, of which only some are open to a token. 1: no groups. */
  readonly groups: number;
  /** Groups that are open: those with the largest sums of their two best scores. */
  readonly openGroups: number;
}

/**
 * Chooses experts: the `k` with the largest scores, best first, the lower index first among equals. `logits [T, E]`, optional
 * `bias [E] -> ids [T, k] i32`. The score of an expert is its gate (see `moeWeights`) plus the bias, which takes no part in the weights
 * (DeepSeek-AI, 2024, "DeepSeek-V3", section 2.1.2). A NaN counts as the smallest score.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const moeRoute: Op<["logits"], MoeRouteParams, "gating" | "groups" | "openGroups", ["bias"]> = {
  name: "moeRoute",
  inputs: ["logits"],
  optionalInputs: ["bias"],
  defaults: { gating: "softmax", groups: 1, openGroups: 1 },
  required: ["k"],
  infer([logits, bias], { k, gating, groups, openGroups }) {
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
    requireWhole("moeRoute", "openGroups", openGroups, 1);
    if (count % groups !== 0)
      throw new ShapeError("moeRoute", `E to be a multiple of ${groups} groups`, formatSpec(logits), "choose other groups");
    if (openGroups > groups) throw new ArgumentError("moeRoute", `openGroups up to groups = ${groups}`, String(openGroups), "open fewer");
    const open = (count / groups) * openGroups;
    if (k > open)
      throw new ArgumentError("moeRoute", `k up to the ${open} experts of the open groups`, String(k), "open more groups, or choose fewer");
    return { dtype: "i32", shape: [tokens, k] };
  },
  cost([logits], { k }, ids) {
    return { flops: (4 + k) * elementCount(logits.shape), bytes: byteLength(logits) + byteLength(ids) };
  },
};
