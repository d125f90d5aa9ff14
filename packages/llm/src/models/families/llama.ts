import type { Family } from "../family.ts";

/** Llama 1 to 3, Mistral 7B, SmolLM and the like. */
export const llama: Family = {
  name: "llama",
  isVerified: true,
  positions: { pairing: "interleaved" },
  attention: { scaleFromFile: true },
  feedForward: { scales: true },
};
