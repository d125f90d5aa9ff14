import type { Family } from "../family.ts";

/** OLMo 2, and OLMo 3 with its windows in three layers of four. */
export const olmo2: Family = {
  name: "olmo2",
  isVerified: true,
  norms: "after",
  positions: { pairing: "half" },
  attention: { queryKeyNorm: "all", window: { period: 4, unscaledRope: true } },
};
