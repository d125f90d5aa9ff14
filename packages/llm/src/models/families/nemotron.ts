import type { Family } from "../family.ts";

/** Nemotron 3 and 4, Minitron. */
export const nemotron: Family = {
  name: "nemotron",
  isVerified: true,
  norm: "layer",
  positions: { pairing: "half" },
  feedForward: { kind: "plain", activation: "squaredRelu" },
};
