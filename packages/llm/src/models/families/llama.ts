import type { Family } from "../family.ts";

/** Llama 1 to 3, Mistral 7B, Mixtral, SmolLM and the like. */
export const llama: Family = {
  name: "llama",
  isVerified: true,
  positions: { pairing: "interleaved" },
  attention: { scaleFromFile: true },
  feedForward: { scales: true },
  experts: { normalize: "always", scales: true },
};
