import type { Family } from "../../family.ts";
import { bertModel } from "./bert.ts";

/** Jina Embeddings 3: BERT with rotary positions. */
export const family: Family = (file) => bertModel(file, { ropeType: "neox", feedForward: { kind: "plain", activation: "gelu" } });
