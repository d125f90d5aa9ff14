import { latentTransformer } from "../../blocks/latentTransformer.ts";
import type { Family } from "../../family.ts";

/** DeepSeek V2, V3 and R1: latent attention, a shared expert, the first layers without experts. */
export const family: Family = (file) => {
  const normalize = file.bool("expert_weights_norm") === true;
  return latentTransformer(file, { hasNextn: true, experts: { normalize, scale: file.positive("expert_weights_scale"), shared: "plain" } });
};
