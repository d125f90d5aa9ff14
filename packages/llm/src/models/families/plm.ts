import { latentTransformer } from "../blocks/latentTransformer.ts";
import type { Family } from "../family.ts";

/** PLM: latent attention, and feed-forward parts without gates. */
export const family: Family = (file) => latentTransformer(file, { feedForward: { kind: "plain", activation: "squaredRelu" } });
