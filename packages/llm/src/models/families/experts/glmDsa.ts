import { ModelError } from "../../../errors.ts";
import type { MetadataReader } from "../../../load/metadataReader.ts";
import { readIndexer } from "../../blocks/attention/indexer.ts";
import { latentTransformer } from "../../blocks/latentTransformer.ts";
import { storedExperts } from "../../blocks/openFeedForward.ts";
import type { Family } from "../../family.ts";

/** GLM 5: DeepSeek V3's form with indexers, from 5.2 on in every fourth layer. */
export const family: Family = (file) => {
  const has = readIndexedLayers(file);
  if (!has(0))
    throw new ModelError(
      `metadata: expected an indexer in the first layer in ${file.key("attention.indexer.types")}, got none; convert the model again`,
    );
  const indexer = readIndexer(file, { ropeType: "norm", epsilon: 0, has });
  const experts = { ...storedExperts(file), gating: "sigmoid", shared: "plain" } as const;
  return latentTransformer(file, { keepsLength: false, hasNextn: true, indexer, feedForward: { scales: true }, experts });
};

/** Context of GLM 5.2, whose first files do not list their layers with an indexer. */
const longContext = 2 ** 20;

/** Which layers have an indexer: as listed by the file; all; or in GLM 5.2 the first two, and of the others each first of four. */
function readIndexedLayers(file: MetadataReader): (layer: number) => boolean {
  const listed = file.flags("attention.indexer.types");
  if (typeof listed === "object") return (layer) => listed[layer] === true;
  if (file.requiredTokens("context_length") < longContext) return () => true;
  return (layer) => layer < 2 || (layer - 2) % 4 === 0;
}
