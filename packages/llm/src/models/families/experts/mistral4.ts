import { latentTransformer } from "../../blocks/latentTransformer.ts";
import { storedExperts } from "../../blocks/openFeedForward.ts";
import type { Family } from "../../family.ts";

/** Mistral Small 4: DeepSeek V2, but YaRN makes the rotated part of queries and keys longer. */
export const family: Family = (file) =>
  latentTransformer(file, { keepsLength: false, experts: { ...storedExperts(file), shared: "plain" } });
