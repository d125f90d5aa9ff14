import { mamba2Block, readAttentionFree, readMamba2 } from "../../blocks/recurrent/ssm.ts";
import type { Family } from "../../family.ts";
import { attentionFree } from "./mamba.ts";

/** Mamba 2 and Codestral Mamba. */
export const family: Family = (file) => {
  const ssm = readMamba2(file);
  return { config: readAttentionFree(file, ssm), forward: (m) => attentionFree(m, (layer, x) => mamba2Block(layer, x, ssm)) };
};
