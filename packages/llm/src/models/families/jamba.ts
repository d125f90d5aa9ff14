import type { Family } from "../family.ts";

/** Jamba: Mamba, attention without positions in some layers, experts in some. */
export const jamba: Family = {
  name: "jamba",
  isVerified: true,
  positions: "none",
  recurrent: { kind: "mamba", layers: "withoutHeads" },
  experts: {},
};
