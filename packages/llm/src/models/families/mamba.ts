import type { Family } from "../family.ts";

/** Mamba and Falcon Mamba. */
export const mamba: Family = {
  name: "mamba",
  isVerified: true,
  positions: "none",
  recurrent: { kind: "mamba", layers: "all" },
  feedForward: { kind: "none" },
};
