import type { Family } from "../family.ts";

/** XVERSE. */
export const xverse: Family = {
  name: "xverse",
  isVerified: true,
  positions: { pairing: "interleaved" },
};
