import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";

/** Gemma 1. */
export const family: Family = (file) =>
  transformer(file, {
    ropeType: "neox",
    embeddingScale: Math.sqrt(file.requiredSize("embedding_length")),
    feedForward: { activation: "gelu" },
  });
