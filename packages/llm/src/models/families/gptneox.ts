import type { Family } from "../family.ts";

/** GPT-NeoX and Pythia. */
export const gptneox: Family = {
  name: "gptneox",
  isVerified: true,
  norm: "layer",
  parallel: "fromFile",
  positions: { pairing: "half" },
  feedForward: { kind: "plain", activation: "gelu" },
};
