import type { Family } from "../family.ts";

/** Qwen 1.5 and 2, the mixtures of experts. */
export const qwen2moe: Family = {
  name: "qwen2moe",
  isVerified: true,
  positions: { pairing: "half" },
  experts: { shared: "gated" },
};
