import type { Family } from "../family.ts";

/** GLM 4 0414, the dense ones. */
export const glm4: Family = {
  name: "glm4",
  isVerified: true,
  norms: "around",
  positions: { pairing: "interleaved", sections: true },
  feedForward: { kind: "fusedGate" },
};
