import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";

/** OLMoE. */
export const olmoe: Family = (file) => transformer(file, { ropeType: "neox", queryKeyNorm: "all", experts: {} });
