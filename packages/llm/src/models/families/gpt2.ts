import type { Family } from "../family.ts";

/** GPT-2. */
export const gpt2: Family = {
  name: "gpt2",
  isVerified: true,
  norm: "layer",
  positions: "learned",
  feedForward: { kind: "plain", activation: "gelu" },
};
