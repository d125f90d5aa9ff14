import { elementAt, lastOf } from "@centella/quant/checks";
import { ArgumentError } from "../errors.ts";
import type { Reference } from "../reference/referenceType.ts";
import { gate, softmaxOf } from "./shared/gating.ts";

export const moeWeights: Reference<"moeWeights"> = ([logits, ids], { gating, normalize, scale }, y) => {
  const experts = lastOf(logits.spec.shape);
  const [tokens, k] = ids.spec.shape as readonly [number, number];
  for (let t = 0; t < tokens; t++) {
    const gates = gate(logits.data.subarray(t * experts, (t + 1) * experts) as Float32Array, gating);
    const chosen = Float64Array.from(ids.data.subarray(t * k, (t + 1) * k), (id, i) => {
      if (id < 0 || id >= experts)
        throw new ArgumentError(
          "moeWeights",
          `ids from 0 to ${experts - 1}`,
          `${id} at ${t * k + i}`,
          "pass the ids that moeRoute returns",
        );
      return elementAt(gates, id);
    });
    const weights = gating === "softmaxOfChosen" ? softmaxOf(chosen) : chosen;
    const sum = weights.reduce((total, weight) => total + weight, 0);
    const factor = normalize ? scale / Math.max(sum, leastSum) : scale;
    (y.data as Float32Array).set(
      weights.map((weight) => weight * factor),
      t * k,
    );
  }
};

/** Lower bound of the divisor of weights: the smallest normal f16. */
const leastSum = 2 ** -14;
