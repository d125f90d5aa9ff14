import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";

/** StableLM 3B and 2: only part of each head is rotated; the 12B normalises queries and keys and is parallel. */
export const family: Family = (file) =>
  transformer(file, {
    norm: "layer",
    isParallel: !file.hasTensor("blk.0.ffn_norm.weight"),
    ropeType: "neox",
    queryKeyNorm: "perHeadIfPresent",
  });
