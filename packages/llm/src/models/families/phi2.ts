import type { Family } from "../family.ts";

/** Phi 1, 1.5 and 2. */
export const phi2: Family = {
  name: "phi2",
  isVerified: true,
  norm: "layer",
  parallel: "always",
  positions: { pairing: "half" },
  feedForward: { kind: "plain", activation: "gelu" },
};
