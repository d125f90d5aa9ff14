import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";

/** XVERSE. */
export const family: Family = (file) => transformer(file, { ropeType: "norm" });
