import type { Family } from "../family.ts";
import { bert } from "./bert.ts";

/** Nomic Embed 1 and 1.5: BERT with rotary positions and gates. */
export const nomicBert: Family = {
  ...bert,
  name: "nomic-bert",
  positions: { pairing: "half" },
  feedForward: { ignoresBiases: true },
};
