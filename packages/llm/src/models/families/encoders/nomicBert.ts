import type { Family } from "../../family.ts";
import { bertModel } from "./bert.ts";

/** Nomic Embed 1 and 1.5: BERT with rotary positions and gates. llama.cpp leaves out the biases of the feed-forward part. */
export const family: Family = (file) =>
  bertModel(file, { ropeType: "neox", feedForward: {}, ignored: ["gate", "up", "down"].map((name) => `blk.*.ffn_${name}.bias`) });
