import type { Family } from "../family.ts";

/** Qwen 1.5, 2 and 2.5: biases on queries, keys and values. */
export const qwen2: Family = {
  name: "qwen2",
  isVerified: true,
  positions: { pairing: "half" },
};
