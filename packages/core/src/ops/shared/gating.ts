/**
 * How logits of experts become gates: "softmax" over all experts, or "sigmoid" of each. "softmaxOfChosen" chooses experts by their logits
 * and takes the softmax over the chosen ones.
 */
export type Gating = "softmax" | "sigmoid" | "softmaxOfChosen";

export const gatings: readonly Gating[] = ["softmax", "sigmoid", "softmaxOfChosen"];

/** Values by which the experts of one token are chosen. */
export function gate(logits: Float32Array, gating: Gating): Float64Array {
  const row = Float64Array.from(logits);
  switch (gating) {
    case "softmaxOfChosen":
      return row;
    case "sigmoid":
      return row.map((x) => 1 / (1 + Math.exp(-x)));
    case "softmax":
      return softmaxOf(row);
  }
}

export function softmaxOf(row: Float64Array): Float64Array {
  const most = row.reduce((p, q) => Math.max(p, q), Number.NEGATIVE_INFINITY);
  const powers = row.map((x) => Math.exp(x - most));
  const total = powers.reduce((sum, x) => sum + x, 0);
  return powers.map((x) => x / total);
}
