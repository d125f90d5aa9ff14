import type { Op } from "../program/op.ts";
import { byteLength, elementCount } from "../spec.ts";
import { requireAxes, requireBoolean, requireExtent, requireFinite, requireOneOf, requireShape } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";
import { type Gating, gatings } from "./shared/gating.ts";

export interface MoeWeightsParams {
  /** How logits become gates, the same as in `moeRoute`; see {@link Gating}. */
  readonly gating: Gating;
  /** Whether a token's weights are divided by their sum, or by 2^-14 if the sum is less (ggml's guard against division by zero). */
  readonly normalize: boolean;
  /** Factor of the weights, applied last. */
  readonly scale: number;
}

/**
 * Weights of chosen experts: `y[t, i]` is the gate of expert `ids[t, i]`.
 * `logits [T, E], ids [T, k] i32 -> y [T, k]`, f32.
 *
 * An id outside `[0, E)` is an error on the scalar reference; on other backends its weight is undefined.
 * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
 * @throws {ArgumentError} if an option is out of range, and for an id out of range when the reference runs
 */
export const moeWeights: Op<["logits", "ids"], MoeWeightsParams, keyof MoeWeightsParams> = {
  name: "moeWeights",
  inputs: ["logits", "ids"],
  defaults: { gating: "softmax", normalize: false, scale: 1 },
  infer([logits, ids], { gating, normalize, scale }) {
    requireDType("moeWeights", "logits", logits, ["f32"]);
    requireDType("moeWeights", "ids", ids, ["i32"]);
    const [tokens, experts] = requireAxes("moeWeights", "logits", logits, ["T", "E"]);
    const [, chosen] = requireAxes("moeWeights", "ids", ids, ["T", "k"]);
    requireExtent("moeWeights", "E", experts);
    requireShape("moeWeights", "ids", ids, [tokens, requireExtent("moeWeights", "k", chosen)]);
    requireOneOf("moeWeights", "gating", gating, gatings);
    requireBoolean("moeWeights", "normalize", normalize);
    requireFinite("moeWeights", "scale", scale);
    return { dtype: "f32", shape: ids.shape };
  },
  cost([logits, ids], _params, y) {
    return { flops: 4 * elementCount(logits.shape), bytes: byteLength(logits) + byteLength(ids) + byteLength(y) };
  },
};
