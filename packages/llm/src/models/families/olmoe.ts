import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";

/** OLMoE. */
export const family: Family = (file) => transformer(file, { ropeType: "neox", queryKeyNorm: "all", experts: {} });
