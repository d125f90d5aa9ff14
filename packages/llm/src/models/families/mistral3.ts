import type { Family } from "../family.ts";

/** Mistral Small 3 and Ministral 3. */
export const mistral3: Family = {
  name: "mistral3",
  isVerified: true,
  positions: { pairing: "interleaved" },
  attention: { scaleFromFile: true, temperature: "byOriginalContext" },
  feedForward: { scales: true },
};
