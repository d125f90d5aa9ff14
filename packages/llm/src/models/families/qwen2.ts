import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";

/** Qwen 1.5, 2 and 2.5: biases on queries, keys and values. */
export const family: Family = (file) => transformer(file, { ropeType: "neox" });
