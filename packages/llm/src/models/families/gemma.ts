import type { Family } from "../family.ts";

/** Gemma 1. */
export const gemma: Family = {
  name: "gemma",
  isVerified: true,
  positions: { pairing: "half" },
  embeddingScale: "sqrtWidth",
  feedForward: { activation: "gelu" },
};
