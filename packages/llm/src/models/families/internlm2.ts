import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";

/** InternLM 2 and 2.5. */
export const family: Family = (file) => transformer(file, { ropeType: "norm" });
