import type { Family } from "../family.ts";

/** BLOOM. */
export const bloom: Family = {
  name: "bloom",
  isVerified: true,
  norm: "layer",
  positions: "none",
  embeddingNorm: true,
  attention: { alibi: { maxBias: 8 } },
  feedForward: { kind: "plain", activation: "gelu" },
};
