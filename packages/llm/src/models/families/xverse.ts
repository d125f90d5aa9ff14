import type { Family } from "../family.ts";

/** XVERSE. */
export const xverse: Family = {
  name: "xverse",
  isVerified: false,
  positions: { pairing: "interleaved" },
};
