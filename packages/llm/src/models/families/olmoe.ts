import type { Family } from "../family.ts";

/** OLMoE. */
export const olmoe: Family = {
  name: "olmoe",
  isVerified: true,
  positions: { pairing: "half" },
  attention: { queryKeyNorm: "all" },
  experts: {},
};
