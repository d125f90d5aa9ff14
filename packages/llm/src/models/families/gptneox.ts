import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";

/** GPT-NeoX and Pythia. */
export const family: Family = (file) =>
  transformer(file, {
    norm: "layer",
    isParallel: file.requiredBool("use_parallel_residual"),
    ropeType: "neox",
    feedForward: { kind: "plain", activation: "gelu" },
  });
