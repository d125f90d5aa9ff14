import type { Reference } from "../reference/referenceType.ts";
import { gate } from "./shared/gating.ts";

export const moeRoute: Reference<"moeRoute"> = ([logits, bias], { k, gating, groups, topKGroups }, ids) => {
  const [tokens, experts] = logits.spec.shape as readonly [number, number];
  const size = experts / groups;
  for (let t = 0; t < tokens; t++) {
    const row = logits.data.subarray(t * experts, (t + 1) * experts);
    const scores = gate(row as Float32Array, gating).map((score, e) => score + (bias?.data[e] ?? 0));
    const groupScores = Float64Array.from({ length: groups }, (_, g) => {
      const [first = 0, second = 0] = scores.slice(g * size, (g + 1) * size).sort((p, q) => q - p);
      return first + second;
    });
    const open = new Set(largest(groupScores, topKGroups));
    const closed = scores.map((score, e) => (open.has(Math.floor(e / size)) ? score : Number.NEGATIVE_INFINITY));
    ids.data.set(largest(closed, k), t * k);
  }
};

/** Indices of the `count` largest values, largest first. */
function largest(values: Float64Array, count: number): number[] {
  const order = Array.from(values, (value, index) => ({ value: Number.isNaN(value) ? Number.NEGATIVE_INFINITY : value, index }));
  return order
    .sort((p, q) => (p.value === q.value ? p.index - q.index : q.value - p.value))
    .slice(0, count)
    .map(({ index }) => index);
}
