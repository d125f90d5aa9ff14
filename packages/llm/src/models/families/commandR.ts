import type { Family } from "../family.ts";

/** Command R and R+, whose larger one normalises queries and keys. */
export const commandR: Family = {
  name: "command-r",
  isVerified: true,
  norm: "layer",
  parallel: "always",
  positions: { pairing: "interleaved" },
  attention: { queryKeyNorm: "optionalPerHead" },
  logits: { scale: "multiply" },
};
