import type { Family } from "../family.ts";

/** Qwen 3, the mixtures of experts. */
export const qwen3moe: Family = {
  name: "qwen3moe",
  isVerified: true,
  positions: { pairing: "half" },
  attention: { queryKeyNorm: "head" },
  feedForward: { scales: true },
  experts: { normalize: "always", scales: true },
};
