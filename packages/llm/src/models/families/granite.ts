import type { Family } from "../family.ts";

/** Granite 3 and later: multipliers on embeddings, residuals, scores and logits. */
export const granite: Family = {
  name: "granite",
  isVerified: true,
  positions: { pairing: "interleaved", switchedByFinetuned: true },
  embeddingScale: { fallback: 1 },
  attention: { scaleFromFile: true },
  residualScale: { fallback: () => 1 },
  logits: { scale: "divide" },
};
