import type { Family } from "../family.ts";

/** gpt-oss: sinks, windows in every other layer, bounded activations, biases everywhere. */
export const gptOss: Family = {
  name: "gpt-oss",
  isVerified: true,
  positions: { pairing: "half" },
  attention: { sinks: true, window: { period: 2, ownRopeBase: {} } },
  feedForward: { activation: "swigluOai", norm: "post_attention_norm" },
  experts: { gating: "softmaxOfChosen" },
};
