import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";

/** Seed-OSS. */
export const family: Family = (file) =>
  transformer(file, {
    ropeType: "neox",
    attention: { scale: file.positive("attention.scale") },
    feedForwardNorm: "post_attention_norm",
  });
