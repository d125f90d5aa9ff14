import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";

/** Qwen 1.5 and 2, mixtures of experts. */
export const family: Family = (file) => transformer(file, { ropeType: "neox", experts: { shared: "gated" } });
