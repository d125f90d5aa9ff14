import type { Family } from "../family.ts";

/** SmolLM 3: every fourth layer does without positions. */
export const smollm3: Family = {
  name: "smollm3",
  isVerified: true,
  positions: { pairing: "interleaved", layers: { allBut: 4 } },
  attention: { scaleFromFile: true },
};
