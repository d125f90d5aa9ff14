import { readIndexer } from "../../blocks/attention/indexer.ts";
import { latentTransformer } from "../../blocks/latentTransformer.ts";
import { storedExperts } from "../../blocks/openFeedForward.ts";
import type { Family } from "../../family.ts";

/** DeepSeek V3.2: DeepSeek V3 with an indexer in each layer, which chooses the keys that queries attend to. */
export const family: Family = (file) => {
  const indexer = readIndexer(file, { ropeType: "neox", epsilon: 1e-6, has: () => true });
  return latentTransformer(file, {
    keepsLength: false,
    hasNextn: true,
    indexer,
    feedForward: { scales: true },
    experts: { ...storedExperts(file), shared: "plain" },
  });
};
