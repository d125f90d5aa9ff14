import type { Family } from "../family.ts";

/** BERT: embeds texts. */
export const bert: Family = {
  name: "bert",
  isVerified: true,
  isEncoder: true,
  norm: "layer",
  norms: "sums",
  positions: "learned",
  tokenTypes: true,
  embeddingNorm: true,
  attention: { queryKeyNorm: "optionalAll" },
  feedForward: { kind: "plain", activation: "gelu" },
  // Heads of classifiers and rerankers.
  ignored: ["cls.weight", "cls.bias", "cls.norm.weight", "cls.output.weight", "cls.output.bias"],
};
