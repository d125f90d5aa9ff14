import type { Family } from "../family.ts";

/** InternLM 2 and 2.5. */
export const internlm2: Family = {
  name: "internlm2",
  isVerified: true,
  positions: { pairing: "interleaved" },
};
