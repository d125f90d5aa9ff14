import type { Family } from "../family.ts";

/** MPT. */
export const mpt: Family = {
  name: "mpt",
  isVerified: true,
  norm: "layer",
  positions: "learnedIfPresent",
  attention: { alibi: "fromFile", clamp: true, queryKeyNorm: "optionalAll" },
  feedForward: { kind: "plain", activation: "gelu" },
};
