import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";

/** Qwen 3, dense. Rerankers have a head `cls.output`. */
export const family: Family = (file) =>
  transformer(file, {
    ropeType: "neox",
    queryKeyNorm: "head",
    feedForward: { scales: true },
    ignored: ["cls.output.weight"],
  });
