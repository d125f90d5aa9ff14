import type { Family } from "../family.ts";

/** Phi 3, 3.5 and 4. The windows that some files name are not applied, as in llama.cpp: the files name them wrongly. */
export const phi3: Family = {
  name: "phi3",
  isVerified: true,
  positions: { pairing: "half" },
  feedForward: { kind: "fusedGate" },
};
