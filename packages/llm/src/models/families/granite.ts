import type { Family } from "../family.ts";

/** Granite 3 and later, the dense ones: multipliers on embeddings, residuals, scores and logits. */
export const granite: Family = {
  name: "granite",
  isVerified: true,
  positions: { pairing: "interleaved", switchedByFinetuned: true },
  embeddingScale: "metadata",
  attention: { scaleFromFile: true },
  residualScale: true,
  logits: { scale: "divide" },
};
