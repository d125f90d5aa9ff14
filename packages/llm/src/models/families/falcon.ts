import type { Family } from "../family.ts";

/** Falcon 7B, 40B and 180B. */
export const falcon: Family = {
  name: "falcon",
  isVerified: true,
  norm: "layer",
  parallel: "always",
  positions: { pairing: "half" },
  feedForward: { kind: "plain", activation: "gelu" },
};
