import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";

/** MiniCPM 1 and 2: multipliers on embeddings, residuals and logits. */
export const family: Family = (file) =>
  transformer(file, {
    ropeType: "norm",
    embeddingScale: file.positive("embedding_scale") ?? 12,
    residualScale: file.positive("residual_scale") ?? 1.4 / Math.sqrt(file.requiredBlocks()),
    logitScale: 1 / (file.positive("logit_scale") ?? 256 / file.requiredSize("embedding_length")),
    experts: { normalize: true },
  });
