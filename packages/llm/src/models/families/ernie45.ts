import type { Family } from "../family.ts";

/** ERNIE 4.5, the dense ones. */
export const ernie45: Family = {
  name: "ernie4_5",
  isVerified: true,
  positions: { pairing: "interleaved" },
  attention: { ignoresOutputBias: true },
};
