import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";

/** Command R, and R+, which normalises queries and keys. */
export const family: Family = (file) =>
  transformer(file, {
    norm: "layer",
    isParallel: true,
    ropeType: "norm",
    queryKeyNorm: "perHeadIfPresent",
    logitScale: file.requiredPositive("logit_scale"),
  });
