import type { Family } from "../family.ts";

/** Baichuan 1 and 2: the 7B, with 32 layers, rotates; the 13B, with 40, has ALiBi. */
export const baichuan: Family = {
  name: "baichuan",
  isVerified: true,
  positions: { pairing: "interleaved", onlyAt: 32 },
  attention: { alibi: { maxBias: 8, onlyAt: 40 } },
};
