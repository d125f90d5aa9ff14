import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";

/** Qwen 3, mixtures of experts. */
export const family: Family = (file) =>
  transformer(file, { ropeType: "neox", queryKeyNorm: "head", feedForward: { scales: true }, experts: { normalize: true } });
