import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";

/** StarCoder 2. */
export const family: Family = (file) =>
  transformer(file, { norm: "layer", ropeType: "neox", feedForward: { kind: "plain", activation: "gelu" } });
