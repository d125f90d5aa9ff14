import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";

/** ERNIE 4.5, dense. llama.cpp leaves out the bias of the attention's output. */
export const family: Family = (file) => transformer(file, { ropeType: "norm", ignored: ["blk.*.attn_output.bias"] });
