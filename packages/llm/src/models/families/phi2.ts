import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";

/** Phi 1, 1.5 and 2. */
export const family: Family = (file) =>
  transformer(file, {
    norm: "layer",
    isParallel: true,
    ropeType: "neox",
    feedForward: { kind: "plain", activation: "gelu" },
  });
