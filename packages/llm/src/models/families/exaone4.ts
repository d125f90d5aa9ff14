import type { Family } from "../family.ts";

/** EXAONE 4: the 32B has windows in three layers of four, and positions in those only. */
export const exaone4: Family = {
  name: "exaone4",
  isVerified: true,
  norms: "after",
  positions: { pairing: "half", layers: "windowed" },
  attention: { queryKeyNorm: "head", window: { period: 4, fallback: 4096, onlyAt: 64 } },
};
