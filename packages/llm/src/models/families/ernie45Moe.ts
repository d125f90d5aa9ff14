import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";

/** ERNIE 4.5, mixtures of experts. llama.cpp leaves out the bias of the attention's output. */
export const family: Family = (file) =>
  transformer(file, {
    ropeType: "norm",
    experts: { normalize: true, shared: file.size("expert_shared_feed_forward_length") === undefined ? undefined : "plain" },
    ignored: ["blk.*.attn_output.bias"],
  });
