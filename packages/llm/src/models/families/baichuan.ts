import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";

/** Baichuan 1 and 2: the 7B, with 32 layers, rotates; the 13B, with 40, has ALiBi. */
export const family: Family = (file) => {
  const layers = file.requiredBlocks();
  return transformer(file, { ropeType: layers === 32 ? "norm" : undefined, attention: { alibi: layers === 40 ? 8 : 0 } });
};
