import type { Family } from "../family.ts";

/** LFM2: short convolutions, and attention in some layers. */
export const lfm2: Family = {
  name: "lfm2",
  isVerified: true,
  positions: { pairing: "half" },
  attention: { queryKeyNorm: "head", window: { period: 0 } },
  recurrent: { kind: "shortConv", layers: "withoutHeads" },
  outputNorm: "token_embd_norm",
};
