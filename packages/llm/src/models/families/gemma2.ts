import type { Family } from "../family.ts";

/** Gemma 2: windows in every other layer, soft caps on scores and logits. */
export const gemma2: Family = {
  name: "gemma2",
  isVerified: true,
  norms: "around",
  positions: { pairing: "half" },
  embeddingScale: "sqrtWidth",
  attention: { softcap: { fallback: 50 }, window: { fallback: 4096, period: 2, ownRopeBase: {} }, widthScaledLayers: 46 },
  feedForward: { activation: "gelu" },
  logits: { softcap: { fallback: 30 } },
};
