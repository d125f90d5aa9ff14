import type { MetadataReader } from "../../load/metadataReader.ts";
import type { Family } from "../family.ts";
import { type TransformerTraits, transformer } from "../transformer.ts";

/** Granite 3 and later: multipliers on embeddings, residuals, scores and logits. */
export const family: Family = (file) =>
  transformer(file, {
    ...graniteScales(file),
    ropeType: file.bool("rope.scaling.finetuned") === false ? undefined : "norm",
  });

/** Granite's multipliers. */
export function graniteScales(file: MetadataReader): TransformerTraits {
  return {
    embeddingScale: file.positive("embedding_scale") ?? 1,
    attention: { scale: file.positive("attention.scale") },
    residualScale: file.positive("residual_scale") ?? 1,
    logitScale: 1 / file.requiredPositive("logit_scale"),
  };
}
