import type { Family } from "../family.ts";

/** Command R7B and later: windows in three layers of four, and positions in those only. */
export const cohere2: Family = {
  name: "cohere2",
  isVerified: true,
  norm: "layer",
  parallel: "always",
  positions: { pairing: "interleaved", layers: "windowed" },
  attention: { window: { fallback: 4096, period: 4 } },
  feedForward: { scales: true },
  logits: { scale: "multiply" },
};
