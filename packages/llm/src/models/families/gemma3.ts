import type { Family } from "../family.ts";

/** Gemma 3, its text part: windows in five layers of six, which rotate with another base. */
export const gemma3: Family = {
  name: "gemma3",
  isVerified: true,
  norms: "around",
  positions: { pairing: "half" },
  embeddingScale: "sqrtWidth",
  attention: { queryKeyNorm: "head", window: { period: 6, ownRopeBase: { fallback: 10_000 }, unscaledRope: true }, widthScaledLayers: 62 },
  feedForward: { activation: "gelu" },
  logits: { softcap: { fallback: 0 } },
};
