import { latentTransformer } from "../blocks/latentTransformer.ts";
import type { Family } from "../family.ts";

/** MiniCPM 3: latent attention, and factors that the files do not state. */
export const family: Family = (file) =>
  latentTransformer(file, {
    ropeType: "neox",
    embeddingScale: 12,
    residualScale: 1.4 / Math.sqrt(file.requiredBlocks()),
    logitScale: 256 / file.requiredSize("embedding_length"),
  });
