import type { Family } from "../family.ts";

/** StarCoder 2. */
export const starcoder2: Family = {
  name: "starcoder2",
  isVerified: true,
  norm: "layer",
  positions: { pairing: "half" },
  feedForward: { kind: "plain", activation: "gelu" },
};
