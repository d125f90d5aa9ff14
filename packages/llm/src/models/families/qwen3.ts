import type { Family } from "../family.ts";

/** Qwen 3, the dense ones. */
export const qwen3: Family = {
  name: "qwen3",
  isVerified: true,
  positions: { pairing: "half" },
  attention: { queryKeyNorm: "head" },
  feedForward: { scales: true },
  // The head of rerankers.
  ignored: ["cls.output.weight"],
};
