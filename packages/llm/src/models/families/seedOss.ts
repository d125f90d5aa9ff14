import type { Family } from "../family.ts";

/** Seed-OSS. */
export const seedOss: Family = {
  name: "seed_oss",
  isVerified: true,
  positions: { pairing: "half" },
  attention: { scaleFromFile: true },
  feedForward: { norm: "post_attention_norm" },
};
