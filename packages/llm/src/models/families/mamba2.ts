import type { Family } from "../family.ts";

/** Mamba 2 and Codestral Mamba. */
export const mamba2: Family = {
  name: "mamba2",
  isVerified: true,
  positions: "none",
  recurrent: { kind: "mamba2", layers: "all" },
  feedForward: { kind: "none" },
};
