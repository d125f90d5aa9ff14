import type { Family } from "../family.ts";

/** MiniCPM 1 and 2: multipliers on embeddings, residuals and logits. */
export const minicpm: Family = {
  name: "minicpm",
  isVerified: true,
  positions: { pairing: "interleaved" },
  embeddingScale: { fallback: 12 },
  residualScale: { fallback: (layers) => 1.4 / Math.sqrt(layers) },
  logits: { scale: "divide", scaleFallback: (width) => 256 / width },
  experts: { normalize: "always" },
};
