import type { Family } from "../family.ts";

/** StableLM 3B and 2: only part of each head is rotated; the 12B normalises queries and keys and is parallel. */
export const stablelm: Family = {
  name: "stablelm",
  isVerified: true,
  norm: "layer",
  parallel: "withoutFeedForwardNorm",
  positions: { pairing: "half" },
  attention: { queryKeyNorm: "optionalPerHead" },
};
