import type { Family } from "../family.ts";

/** DeepSeek V2, V3 and R1: latent attention, a shared expert, the first blocks without experts. */
export const deepseek2: Family = {
  name: "deepseek2",
  isVerified: true,
  positions: { pairing: "interleaved" },
  attention: { latent: true, temperature: "byLength" },
  experts: { normalize: "fromFile", scaleFromFile: true, shared: "plain" },
};
