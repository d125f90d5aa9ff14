import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";

/** XVERSE. */
export const xverse: Family = (file) => transformer(file, { ropeType: "norm" });
